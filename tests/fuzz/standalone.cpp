// Runs a fuzzer's entry over files and over mutations of them, where there is no libFuzzer: always
// the same ones. Usage: FUZZER MUTATIONS FILE|FOLDER…
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

/// So many bytes of mutations at most are made of one file: large ones get fewer.
constexpr std::size_t kBytesOfMutations = std::size_t{16} << 20;

char current[512];  // which input it is; told when that ends the process

void tell(int signal) {
  static_cast<void>(!::write(STDERR_FILENO, current, std::strlen(current)));
  std::signal(signal, SIG_DFL);
  static_cast<void>(std::raise(signal));
}

void run(const std::string& bytes, const std::string& name, unsigned mutation) {
  std::snprintf(current, sizeof current, "fuzz: ended by %s, mutation %u\n", name.c_str(),
                mutation);
  // A copy of exactly its size, so that a sanitizer sees every read beyond it.
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  static_cast<void>(LLVMFuzzerTestOneInput(copy.data(), copy.size()));
}

std::string mutated(std::string bytes, std::minstd_rand& random) {
  const auto pick = [&](std::size_t below) { return random() % below; };
  const std::size_t changes = 1 + pick(4);
  for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
    // Heads and ends of files say the most.
    const std::size_t size = bytes.size();
    const std::size_t at = pick(3) == 0   ? pick(std::min<std::size_t>(size, 64))
                           : pick(3) == 0 ? size - 1 - pick(std::min<std::size_t>(size, 64))
                                          : pick(size);
    switch (pick(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(pick(256));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, 1 + pick(16));
        break;
      default:
        bytes.insert(at, bytes.substr(pick(size), 1 + pick(16)));
        break;
    }
  }
  return bytes;
}

}  // namespace

int main(int count, char** words) {
  const long mutations = count < 3 ? -1 : std::strtol(words[1], nullptr, 10);
  if (mutations < 0) {
    std::fprintf(stderr, "usage: %s MUTATIONS FILE|FOLDER...\n", words[0]);
    return 2;
  }
  for (const int signal : {SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGFPE}) std::signal(signal, tell);
  std::vector<fs::path> files;
  for (int i = 2; i < count; ++i) {
    if (!fs::is_directory(words[i])) {
      files.emplace_back(words[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(words[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::size_t inputs = 0;
  run("", "nothing", 0);
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    if (bytes.empty()) {
      std::fprintf(stderr, "fuzz: %s cannot be read, or is empty\n", file.c_str());
      return 1;
    }
    const auto most = std::min<std::size_t>(static_cast<std::size_t>(mutations),
                                            kBytesOfMutations / bytes.size());
    run(bytes, file.filename(), 0);
    std::minstd_rand random(1);
    for (unsigned i = 1; i <= most; ++i) run(mutated(bytes, random), file.filename(), i);
    inputs += 1 + most;
  }
  std::printf("fuzz: %zu inputs from %zu files\n", inputs, files.size());
  return files.empty() ? 1 : 0;
}
