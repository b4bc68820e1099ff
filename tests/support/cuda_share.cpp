#include "tests/support/cuda_share.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "tests/support/catch.hpp"

namespace forebay::test {
namespace {

/// The program at work, and the socket to it.
class Importer {
 public:
  Importer(const std::string& library_folder, int device) {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    socket_ = FileDescriptor(ends[0]);
    const FileDescriptor theirs(ends[1]);
    const timeval patience{60, 0};  // a program that hangs fails the test
    REQUIRE(setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cuda_share";
    constexpr int kTheirs = 100;
    posix_spawn_file_actions_t actions;
    REQUIRE(posix_spawn_file_actions_init(&actions) == 0);
    REQUIRE(posix_spawn_file_actions_adddup2(&actions, theirs.get(), kTheirs) == 0);
    std::vector<std::string> words = {program, std::to_string(kTheirs), std::to_string(device)};
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    std::string library_path = "LD_LIBRARY_PATH=" + library_folder;
    std::vector<char*> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (library_folder.empty() || std::string(*variable).rfind("LD_LIBRARY_PATH=", 0) != 0) {
        environment.push_back(*variable);
      }
    }
    if (!library_folder.empty()) {
      environment.push_back(library_path.data());
    }
    environment.push_back(nullptr);
    REQUIRE(posix_spawn(&child_, program.c_str(), &actions, nullptr, arguments.data(),
                        environment.data()) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Importer() {
    if (child_ > 0) {
      end();
    }
  }
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] bool wrote() const {
    char token = 0;
    return recv(socket_.get(), &token, 1, 0) == 1 && token == 'w';
  }
  [[nodiscard]] bool tell() const { return send(socket_.get(), "f", 1, MSG_NOSIGNAL) == 1; }
  /// The program's exit code.
  int end() {
    socket_ = FileDescriptor();
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  FileDescriptor socket_;
  pid_t child_ = 0;
};

}  // namespace

void shares_with_a_process(cuda::CudaDevice& device, std::size_t before, std::size_t bytes,
                           const std::string& library_folder, int importer) {
  const pool::StreamId stream = device.default_stream().id();
  pool::Pool pool = device.pool();
  void* first = pool.allocate(before, stream);
  void* block = pool.allocate(bytes, stream);
  write_words(device, first, before, Author::exporter);
  write_words(device, block, bytes, Author::exporter);
  Importer program(library_folder, importer);
  {
    const ExportedBlock exported = device.export_block(block);
    CHECK(exported.bytes == bytes);
    CHECK(exported.offset > 0);
    send_block(program.socket(), exported);
  }
  REQUIRE(program.wrote());
  CHECK(wrong_words(device, block, bytes, Author::importer) == 0);
  CHECK(wrong_words(device, first, before, Author::exporter) == 0);
  pool.deallocate(first, stream);
  pool.deallocate(block, stream);
  CHECK(pool.trim() > 0);
  CHECK(pool.stats().held.current == 0);
  // Other memory of the device, which must not be the importer's.
  void* other = pool.allocate(2 * bytes, stream);
  write_words(device, other, 2 * bytes, Author::exporter);
  REQUIRE(program.tell());
  CHECK(program.end() == 0);
  pool.deallocate(other, stream);
}

}  // namespace forebay::test
