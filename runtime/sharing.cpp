// Blocks on a Unix socket: a header, then batches of sizes with as many descriptors beside them.
#include "forebay/runtime/sharing.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "forebay/pool/error.hpp"

namespace forebay {
namespace {

/// Both sides run on one machine, so numbers go in its byte order.
struct Header {
  std::uint64_t magic, bytes, offset, pieces;
};
constexpr std::uint64_t kMagic = 0x31'6b'63'6f'6c'62'62'66;  // "fbblock1"
/// Descriptors in one message; the system allows 253.
constexpr std::size_t kBatch = 128;
using Sizes = std::array<std::uint64_t, kBatch>;
constexpr std::size_t kControl = CMSG_SPACE(kBatch * sizeof(int));

[[noreturn]] void fail(const std::string& what) { throw Error("sharing a block: " + what); }

void send_some(int socket, const void* data, std::size_t bytes, const std::vector<int>& files) {
  alignas(cmsghdr) std::array<char, kControl> control{};
  const auto* at = static_cast<const char*>(data);
  bool with_files = !files.empty();
  while (bytes > 0) {
    iovec part{const_cast<char*>(at), bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (with_files) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
    }
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail(std::string("sending failed: ") + std::strerror(errno));
    with_files = false;  // they went with the first byte
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

/// Takes what came beside a message into `files`.
void collect(msghdr& message, std::vector<FileDescriptor>& files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(part) + i * sizeof file, sizeof file);
      files.emplace_back(file);
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    fail("not every file arrived: this process may open no more (RLIMIT_NOFILE)");
  }
}

void receive_some(int socket, void* data, std::size_t bytes, std::vector<FileDescriptor>& files) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    alignas(cmsghdr) std::array<char, kControl> control{};
    iovec part{at, bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("receiving failed: ") + std::strerror(errno));
    collect(message, files);
    if (got == 0) fail("the other side closed the socket");
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void send_block(int socket, const ExportedBlock& block) {
  const Header header{kMagic, block.bytes, block.offset, block.pieces.size()};
  send_some(socket, &header, sizeof header, {});
  for (std::size_t done = 0; done < block.pieces.size();) {
    Sizes sizes{};
    std::vector<int> files;
    const std::size_t count = std::min(kBatch, block.pieces.size() - done);
    for (std::size_t i = 0; i < count; ++i, ++done) {
      sizes[i] = block.pieces[done].bytes;
      files.push_back(block.pieces[done].file.get());
    }
    send_some(socket, sizes.data(), count * sizeof sizes[0], files);
  }
}

ExportedBlock receive_block(int socket) {
  Header header{};
  std::vector<FileDescriptor> files;
  receive_some(socket, &header, sizeof header, files);
  if (header.magic != kMagic || !files.empty()) fail("what came is no block");
  ExportedBlock block;
  block.bytes = header.bytes;
  block.offset = header.offset;
  for (std::size_t left = header.pieces; left > 0;) {
    Sizes sizes{};
    const std::size_t count = std::min<std::size_t>(kBatch, left);
    files.clear();
    receive_some(socket, sizes.data(), count * sizeof sizes[0], files);
    if (files.size() != count) {
      fail("what came is no block: " + std::to_string(files.size()) + " files for " +
           std::to_string(count) + " pieces");
    }
    for (std::size_t i = 0; i < count; ++i) {
      block.pieces.push_back({std::move(files[i]), sizes[i]});
    }
    left -= count;
  }
  return block;
}

}  // namespace forebay
