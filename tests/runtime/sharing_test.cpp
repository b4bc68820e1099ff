#include "forebay/runtime/sharing.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "forebay/pool/error.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

struct Sockets {
  FileDescriptor ours, theirs;
  explicit Sockets(int type = SOCK_STREAM) {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) == 0);
    ours = FileDescriptor(ends[0]);
    theirs = FileDescriptor(ends[1]);
  }
};

/// A block of so many pieces, whose files hold their numbers.
ExportedBlock numbered(std::size_t pieces) {
  ExportedBlock block{1000, 17, {}};
  for (std::size_t i = 0; i < pieces; ++i) {
    FileDescriptor file(memfd_create("piece", MFD_CLOEXEC));
    REQUIRE(write(file.get(), &i, sizeof i) == sizeof i);
    block.pieces.push_back({std::move(file), 2000 + i});
  }
  return block;
}

std::size_t open_files() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::string refusal(int socket) {
  const std::size_t before = open_files();
  std::string line;
  try {
    (void)receive_block(socket);
  } catch (const Error& error) {
    line = error.what();
  }
  CHECK(open_files() == before);
  return line;
}

}  // namespace

TEST_CASE("a file descriptor is closed with its object, and once") {
  const std::size_t before = open_files();
  {
    FileDescriptor file(memfd_create("file", MFD_CLOEXEC));
    FileDescriptor moved = std::move(file);
    CHECK(file.get() == -1);
    CHECK(open_files() == before + 1);
    FileDescriptor other(memfd_create("other", MFD_CLOEXEC));
    other = std::move(moved);
    const int loose = other.release();
    CHECK(other.get() == -1);
    CHECK(close(loose) == 0);
  }
  CHECK(open_files() == before);
}

TEST_CASE("a block arrives as it was sent, over every kind of socket") {
  const std::size_t before = open_files();
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    for (const std::size_t pieces : {0, 1, 127, 128, 129, 300}) {
      INFO(type << " " << pieces);
      Sockets sockets(type);
      std::thread sender([&] { send_block(sockets.ours.get(), numbered(pieces)); });
      const ExportedBlock block = receive_block(sockets.theirs.get());
      sender.join();
      CHECK(block.bytes == 1000);
      CHECK(block.offset == 17);
      REQUIRE(block.pieces.size() == pieces);
      for (std::size_t i = 0; i < pieces; ++i) {
        std::size_t number = ~i;
        CHECK(pread(block.pieces[i].file.get(), &number, sizeof number, 0) == sizeof number);
        CHECK(number == i);
        CHECK(block.pieces[i].bytes == 2000 + i);
        CHECK((fcntl(block.pieces[i].file.get(), F_GETFD) & FD_CLOEXEC) != 0);
      }
    }
  }
  CHECK(open_files() == before);
}

TEST_CASE("blocks that follow one another on a socket stay apart") {
  const Sockets sockets;
  send_block(sockets.ours.get(), numbered(2));
  send_block(sockets.ours.get(), numbered(1));
  CHECK(receive_block(sockets.theirs.get()).pieces.size() == 2);
  CHECK(receive_block(sockets.theirs.get()).pieces.size() == 1);
}

TEST_CASE("what is no block is refused, and no file of it stays open") {
  {
    Sockets sockets;
    sockets.ours = FileDescriptor();
    CHECK(refusal(sockets.theirs.get()) == "sharing a block: the other side closed the socket");
  }
  {
    const Sockets sockets;
    const std::string text(100, 'x');
    REQUIRE(write(sockets.ours.get(), text.data(), text.size()) == 100);
    CHECK(refusal(sockets.theirs.get()) == "sharing a block: what came is no block");
  }
  {
    Sockets sockets;  // ends within the pieces
    send_block(sockets.ours.get(), numbered(300));
    std::array<char, 32 + 128 * 8> taken{};
    Sockets again;
    REQUIRE(read(sockets.theirs.get(), taken.data(), taken.size()) > 0);
    REQUIRE(write(again.ours.get(), taken.data(), 32) == 32);
    again.ours = FileDescriptor();
    CHECK(refusal(again.theirs.get()) == "sharing a block: the other side closed the socket");
  }
  {
    const Sockets sockets;  // sizes without files
    send_block(sockets.ours.get(), numbered(1));
    std::array<char, 40> bytes{};
    REQUIRE(read(sockets.theirs.get(), bytes.data(), 32) == 32);
    REQUIRE(read(sockets.theirs.get(), bytes.data() + 32, 8) == 8);
    REQUIRE(write(sockets.ours.get(), bytes.data(), bytes.size()) == 40);
    CHECK(refusal(sockets.theirs.get()) ==
          "sharing a block: what came is no block: 0 files for 1 pieces");
  }
  CHECK(refusal(-1).find("sharing a block: receiving failed: ") == 0);
}

TEST_CASE("sending to nobody and sending no file fail in one line") {
  Sockets sockets;
  sockets.theirs = FileDescriptor();
  const ExportedBlock block = numbered(1);
  CHECK_THROWS_AS(send_block(sockets.ours.get(), block), Error);
  const Sockets others;
  ExportedBlock empty;
  empty.pieces.push_back({FileDescriptor(), 5});
  CHECK_THROWS_AS(send_block(others.ours.get(), empty), Error);
}

TEST_CASE("a process that may open no more files is told so") {
  const test::Ended ended = test::in_child([] {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
    send_block(ends[0], numbered(20));
    const rlimit few{static_cast<rlim_t>(ends[1]) + 5, static_cast<rlim_t>(ends[1]) + 5};
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 2;
    try {
      (void)receive_block(ends[1]);
    } catch (const Error& error) {
      return std::string(error.what()).find("RLIMIT_NOFILE") != std::string::npos ? 0 : 3;
    }
    return 4;
  });
  CHECK(ended.code == 0);
}
