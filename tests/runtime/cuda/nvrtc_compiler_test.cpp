#include "runtime/cuda/nvrtc_compiler.hpp"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "forebay/pool/error.hpp"
#include "tests/runtime/child.hpp"
#include "tests/runtime/temporary_folder.hpp"

using namespace forebay;
using cuda::compile_cubin;

namespace {

const driver::NvrtcApi& nvrtc() {
  static const auto api = driver::NvrtcApi::open();
  return *api;
}

constexpr const char* kMultiplyAdd = R"(
extern "C" __global__ void multiply_add(float* out, const float* a, const float* b) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] * b[i] + 1.5F;
}
)";

/// The opcodes of a kernel of the architectures with 16-byte instructions: the low nine bits, which
/// the forms of an instruction share.
std::vector<unsigned> opcodes(const std::string& cubin, const std::string& kernel) {
  Elf64_Ehdr file;
  std::memcpy(&file, cubin.data(), sizeof file);
  const auto section = [&](std::size_t i) {
    Elf64_Shdr header;
    std::memcpy(&header, cubin.data() + file.e_shoff + i * file.e_shentsize, sizeof header);
    return header;
  };
  const Elf64_Shdr names = section(file.e_shstrndx);
  std::vector<unsigned> found;
  for (std::size_t i = 0; i < file.e_shnum; ++i) {
    const Elf64_Shdr header = section(i);
    if (cubin.c_str() + names.sh_offset + header.sh_name != ".text." + kernel) {
      continue;
    }
    for (std::size_t at = 0; at + 16 <= header.sh_size; at += 16) {
      std::uint64_t word = 0;
      std::memcpy(&word, cubin.data() + header.sh_offset + at, sizeof word);
      found.push_back(static_cast<unsigned>(word & 0x1ff));
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a kernel compiles for every architecture that is served") {
  for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}) {
    const std::string cubin =
        compile_cubin(nvrtc(), kMultiplyAdd, "multiply_add", {architecture, false});
    INFO(architecture);
    CHECK(cubin.substr(0, SELFMAG) == ELFMAG);
    CHECK(cubin.find(".text.multiply_add") != std::string::npos);
  }
}

TEST_CASE("multiplications and additions are not contracted") {
  constexpr unsigned kFmul = 0x020;
  constexpr unsigned kFadd = 0x021;
  constexpr unsigned kFfma = 0x023;
  const auto code = opcodes(compile_cubin(nvrtc(), kMultiplyAdd, "multiply_add", {"sm_90", false}),
                            "multiply_add");
  CHECK(std::count(code.begin(), code.end(), kFmul) == 1);
  CHECK(std::count(code.begin(), code.end(), kFadd) == 1);
  CHECK(std::count(code.begin(), code.end(), kFfma) == 0);
}

TEST_CASE("what does not compile comes back with the compiler's words") {
  try {
    (void)compile_cubin(nvrtc(), "extern \"C\" __global__ void k() {\n  undeclared = 1;\n}\n",
                        "k.cu", {"sm_90", false});
    FAIL("nonsense compiled");
  } catch (const CompileError& error) {
    CHECK(
        std::string(error.what()) ==
        "k.cu does not compile for sm_90: k.cu(2): error: identifier \"undeclared\" is undefined");
    CHECK(error.log().find("1 error detected in the compilation of \"k.cu\"") != std::string::npos);
  }
}

TEST_CASE("an architecture that the compiler does not know is named with those it does") {
  try {
    (void)compile_cubin(nvrtc(), kMultiplyAdd, "multiply_add", {"sm_10", false});
    FAIL("compiled for an architecture that is gone");
  } catch (const CompileError& error) {
    const std::string line = error.what();
    CHECK(line.find("does not compile for sm_10, only for") != std::string::npos);
    CHECK(line.find(" sm_90") != std::string::npos);
  }
}

TEST_CASE("source may not include anything") {
  CHECK_THROWS_AS(
      compile_cubin(nvrtc(), "#include \"nvrtc_compiler.hpp\"\n", "includes", {"sm_90", false}),
      CompileError);
}

TEST_CASE("a compiler is found and compiles from any working directory, one that is gone too") {
  const test::Ended ended = test::in_child([] {
    const test::TemporaryFolder top;
    for (const bool gone : {false, true}) {
#ifdef __SANITIZE_ADDRESS__
      // NVRTC 13.0 reads beyond a buffer of its own where there is no working directory.
      if (gone) break;
#endif
      if (::chdir(top.path().c_str()) != 0) return 1;
      if (gone) std::filesystem::remove_all(top.path());
      cuda::Compiler compiler(0, {"sm_90", false});
      if (compiler.compile(kMultiplyAdd, "multiply_add").find(".text.multiply_add") ==
          std::string::npos) {
        return 2;
      }
    }
    return 0;
  });
  INFO(ended.err);
  CHECK(ended.code == 0);
}
