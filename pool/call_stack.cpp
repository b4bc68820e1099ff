#include "pool/call_stack.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if FOREBAY_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

namespace forebay::pool {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  char* readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? readable : name;
  std::free(readable);
  return result;
}

const char* file_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

std::string hexadecimal(std::uintptr_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(value));
  return text;
}

}  // namespace

CallStack CallStack::take() noexcept {
  CallStack stack;
  stack.count = backtrace(stack.frames.data(), kFrames);
  return stack;
}

#if FOREBAY_HAVE_LIBDW

/// The functions of libdw that are needed, opened at run time: a program that never reports a leak
/// loads neither libdw nor what it needs.
class Symbols::Libdw {
 public:
  Libdw() {
    library_ = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library_ == nullptr) return;
    const bool complete =
        bind("dwfl_begin", begin_) && bind("dwfl_end", end_) &&
        bind("dwfl_linux_proc_report", report_) && bind("dwfl_report_end", report_end_) &&
        bind("dwfl_linux_proc_find_elf", callbacks_.find_elf) &&
        bind("dwfl_standard_find_debuginfo", callbacks_.find_debuginfo) &&
        bind("dwfl_addrmodule", module_) && bind("dwfl_module_addrname", function_) &&
        bind("dwfl_module_getsrc", source_) && bind("dwfl_lineinfo", line_);
    if (!complete) return;
    session_ = begin_(&callbacks_);
    if (session_ == nullptr) return;
    if (report_(session_, getpid()) != 0 || report_end_(session_, nullptr, nullptr) != 0) {
      end_(session_);
      session_ = nullptr;
    }
  }
  // The library stays: what it has registered with the process must outlive this object.
  ~Libdw() {
    if (session_ != nullptr) end_(session_);
  }
  Libdw(const Libdw&) = delete;
  Libdw& operator=(const Libdw&) = delete;

  [[nodiscard]] bool usable() const noexcept { return session_ != nullptr; }
  /// Empty strings for what is not known.
  void look_up(std::uintptr_t address, std::string& function, std::string& place) const {
    Dwfl_Module* module = module_(session_, address);
    if (module == nullptr) return;
    if (const char* name = function_(module, address)) function = demangled(name);
    Dwfl_Line* found = source_(module, address);
    if (found == nullptr) return;
    int line = 0;
    if (const char* file = line_(found, nullptr, &line, nullptr, nullptr, nullptr)) {
      place = std::string(file_of(file)) + ":" + std::to_string(line);
    }
  }

 private:
  template <typename Function>
  bool bind(const char* name, Function& to) {
    to = reinterpret_cast<Function>(dlsym(library_, name));
    return to != nullptr;
  }

  void* library_ = nullptr;
  Dwfl* session_ = nullptr;
  Dwfl_Callbacks callbacks_{};
  decltype(&dwfl_begin) begin_ = nullptr;
  decltype(&dwfl_end) end_ = nullptr;
  decltype(&dwfl_linux_proc_report) report_ = nullptr;
  decltype(&dwfl_report_end) report_end_ = nullptr;
  decltype(&dwfl_addrmodule) module_ = nullptr;
  decltype(&dwfl_module_addrname) function_ = nullptr;
  decltype(&dwfl_module_getsrc) source_ = nullptr;
  decltype(&dwfl_lineinfo) line_ = nullptr;
};

#else

class Symbols::Libdw {
 public:
  [[nodiscard]] static bool usable() noexcept { return false; }
  void look_up(std::uintptr_t, std::string&, std::string&) const {}
};

#endif

Symbols::Symbols() : libdw_(std::make_unique<Libdw>()) {}
Symbols::~Symbols() = default;

const char* Symbols::source() const noexcept { return libdw_->usable() ? "libdw" : "dladdr"; }

const std::string& Symbols::name(void* return_address) {
  const auto known = known_.find(return_address);
  if (known != known_.end()) return known->second;
  return known_.emplace(return_address, look_up(return_address)).first->second;
}

std::string Symbols::look_up(void* return_address) const {
  // The call lies before the address to which it returns, which may be another line's or
  // function's.
  const auto address = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  std::string function, place;
  if (libdw_->usable()) libdw_->look_up(address, function, place);
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0) {  // NOLINT(performance-no-int-to-ptr)
    if (function.empty() && info.dli_sname != nullptr) function = demangled(info.dli_sname);
    if (place.empty() && info.dli_fname != nullptr) {
      place = std::string(file_of(info.dli_fname)) + "+" +
              hexadecimal(address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    }
  }
  if (place.empty()) place = hexadecimal(address);
  return function.empty() ? place : function + " (" + place + ")";
}

}  // namespace forebay::pool
