// The structures by which libraries hand each other arrays, as DLPack 1.1 lays them out in memory.
// The names are the specification's, so that a program may include dlpack.h beside this library.
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming)

/// Where memory is. Host memory that a CUDA device reaches counts as both kinds below it.
inline constexpr std::int32_t kDlCpu = 1;
inline constexpr std::int32_t kDlCuda = 2;
inline constexpr std::int32_t kDlCudaHost = 3;
inline constexpr std::int32_t kDlCudaManaged = 13;

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};

inline constexpr std::uint8_t kDlInt = 0;
inline constexpr std::uint8_t kDlUInt = 1;
inline constexpr std::uint8_t kDlFloat = 2;
inline constexpr std::uint8_t kDlBfloat = 4;
inline constexpr std::uint8_t kDlBool = 6;

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;  // of a lane
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null for row-major without gaps
  std::uint64_t byte_offset;
};

/// Before version 1.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);  // may be null
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint64_t kDlReadOnly = 1;

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);  // may be null
  std::uint64_t flags;
  DLTensor dl_tensor;
};

// NOLINTEND(readability-identifier-naming)
