// Sharing memory with other processes: a block leaves as files and is mapped again elsewhere.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace forebay {

/// A file descriptor that is closed with its object.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Owns `fd` from now on; -1 is none.
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  [[nodiscard]] int get() const noexcept { return fd_; }
  /// Gives the descriptor to the caller, who closes it.
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// A block of a pool as another process needs it to map the same memory. `Device::export_block`
/// makes one; `send_block` brings it to another process, or the application does with means of its
/// own. While it lives, its files keep the memory from going back to the device.
struct ExportedBlock {
  struct Piece {
    FileDescriptor file;
    std::size_t bytes = 0;
  };
  std::size_t bytes = 0;      ///< of the block
  std::size_t offset = 0;     ///< of the block in the first piece
  std::vector<Piece> pieces;  ///< mapped one behind the other
};

/// Memory of another process that is mapped here until `close` or the end of the object, whatever
/// becomes of the device that it was imported with.
/// Thread safety: as an int; the memory itself is everybody's.
class ImportedBlock {
 public:
  ImportedBlock() = default;
  /// The block's address on the device that it was imported with; null if nothing is mapped.
  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] explicit operator bool() const noexcept { return data_ != nullptr; }
  /// Unmaps the memory. Twice is fine. REQUIRES: no work that uses it is in flight.
  void close() noexcept { *this = ImportedBlock(); }

  ImportedBlock(ImportedBlock&& other) noexcept { *this = std::move(other); }
  ImportedBlock& operator=(ImportedBlock&& other) noexcept {
    mapping_ = std::exchange(other.mapping_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  /// What a kind of device makes: `mapping` unmaps as it ends.
  ImportedBlock(std::shared_ptr<void> mapping, void* data, std::size_t bytes) noexcept
      : mapping_(std::move(mapping)), data_(data), bytes_(bytes) {}

 private:
  std::shared_ptr<void> mapping_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Sends a block over a connected Unix socket. The files are copied: `block` may go afterwards.
/// Throws Error. Blocks while the socket is full.
void send_block(int socket, const ExportedBlock& block);
/// Receives what `send_block` sent. Throws Error when the other side closed the socket, sent
/// something else, or this process may open no more files; nothing is left open then. What comes
/// from the other side is checked for form only: import blocks of processes that you trust.
[[nodiscard]] ExportedBlock receive_block(int socket);

}  // namespace forebay
