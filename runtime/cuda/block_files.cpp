#include "runtime/cuda/block_files.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "forebay/pool/error.hpp"

namespace forebay::cuda {
namespace {

using driver::CudaApi;

/// Addresses and what is mapped in them; all of it goes with the object. None of its calls needs a
/// context, so it may outlive the device.
class MappedPieces {
 public:
  MappedPieces(std::shared_ptr<const CudaApi> api, std::size_t bytes)
      : api_(std::move(api)), bytes_(bytes) {
    check(*api_, api_->cuMemAddressReserve(&begin_, bytes_, 0, 0, 0), "cuMemAddressReserve");
  }
  ~MappedPieces() {
    if (!api_->usable()) {
      return;
    }
    CUdeviceptr at = begin_;
    for (const std::size_t bytes : mapped_) {
      api_->cuMemUnmap(at, bytes);
      at += bytes;
    }
    api_->cuMemAddressFree(begin_, bytes_);
  }
  MappedPieces(const MappedPieces&) = delete;
  MappedPieces& operator=(const MappedPieces&) = delete;

  /// Maps the memory behind `file` behind what is mapped already.
  void add(int file, std::size_t bytes) {
    mapped_.reserve(mapped_.size() + 1);
    CUmemGenericAllocationHandle handle = 0;
    void* shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
    check(*api_,
          api_->cuMemImportFromShareableHandle(&handle, shared,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          "cuMemImportFromShareableHandle");
    const CUresult result = api_->cuMemMap(begin_ + reached_, bytes, 0, handle, 0);
    api_->cuMemRelease(handle);  // the mapping keeps the memory
    check(*api_, result, "cuMemMap of an imported piece");
    mapped_.push_back(bytes);
    reached_ += bytes;
  }
  void give_access(CUdevice device) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {device}},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    check(*api_, api_->cuMemSetAccess(begin_, bytes_, &access, 1),
          "cuMemSetAccess to an imported block");
  }
  [[nodiscard]] CUdeviceptr begin() const noexcept { return begin_; }

 private:
  const std::shared_ptr<const CudaApi> api_;
  const std::size_t bytes_;
  std::size_t reached_ = 0;
  CUdeviceptr begin_ = 0;
  std::vector<std::size_t> mapped_;
};

/// Bytes of all pieces. Throws Error if the block does not lie in them.
std::size_t checked_total(const ExportedBlock& block) {
  std::size_t total = 0;
  for (const ExportedBlock::Piece& piece : block.pieces) {
    if (piece.bytes == 0 || piece.bytes > SIZE_MAX - total) {
      throw Error("importing a block: a piece of " + std::to_string(piece.bytes) +
                  " bytes is none");
    }
    total += piece.bytes;
  }
  if (block.bytes == 0 || block.bytes > total || block.offset > total - block.bytes) {
    throw Error("importing a block: " + std::to_string(block.bytes) + " bytes at offset " +
                std::to_string(block.offset) + " do not lie in pieces of " + std::to_string(total) +
                " bytes");
  }
  return total;
}

}  // namespace

ExportedBlock export_pieces(const CudaApi& api, const pool::BlockPieces& block) {
  ExportedBlock exported;
  exported.bytes = block.bytes;
  exported.offset = block.offset;
  for (const pool::BlockPieces::Piece& piece : block.pieces) {
    int file = -1;
    check(api,
          api.cuMemExportToShareableHandle(&file, piece.handle,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          "cuMemExportToShareableHandle");
    exported.pieces.push_back({FileDescriptor(file), piece.bytes});
  }
  return exported;
}

ImportedBlock import_pieces(std::shared_ptr<const CudaApi> api, CUdevice device,
                            const ExportedBlock& block) {
  auto mapping = std::make_shared<MappedPieces>(std::move(api), checked_total(block));
  for (const ExportedBlock::Piece& piece : block.pieces) {
    mapping->add(piece.file.get(), piece.bytes);
  }
  mapping->give_access(device);
  void* data = reinterpret_cast<void*>(mapping->begin() + block.offset);
  return {std::move(mapping), data, block.bytes};
}

}  // namespace forebay::cuda
