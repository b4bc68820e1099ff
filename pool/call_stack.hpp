// Call stacks: taken cheaply where something happens, named only when somebody wants to read them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace forebay::pool {

/// The return addresses of whoever calls, innermost first.
struct CallStack {
  static constexpr int kFrames = 24;
  std::array<void*, kFrames> frames{};
  int count = 0;

  /// Cost: some microseconds; the first call of a process loads the unwinder.
  [[nodiscard]] static CallStack take() noexcept;
  [[nodiscard]] auto operator<=>(const CallStack&) const = default;
};

/// Names code addresses of this process, through libdw where it is there (it is opened at first
/// use), else through dladdr. Thread safety: one thread at a time.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  /// "libdw" or "dladdr".
  [[nodiscard]] const char* source() const noexcept;
  /// "function (file:line)", "function (module+0x12)", or "module+0x12": what is known of the call
  /// that returns to the address. Cached.
  [[nodiscard]] const std::string& name(void* return_address);

 private:
  class Libdw;
  [[nodiscard]] std::string look_up(void* return_address) const;

  std::unique_ptr<Libdw> libdw_;
  std::unordered_map<void*, std::string> known_;
};

}  // namespace forebay::pool
