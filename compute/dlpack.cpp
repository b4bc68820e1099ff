#include "forebay/compute/dlpack.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "compute/dlpack_abi.hpp"
#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Engine;
using compute::Node;
using compute::NodeRef;
using compute::Storage;

struct TypePair {
  DType type;
  DLDataType as;
};
constexpr TypePair kTypes[] = {
    {DType::f64, {kDlFloat, 64, 1}}, {DType::f32, {kDlFloat, 32, 1}},
    {DType::f16, {kDlFloat, 16, 1}}, {DType::bf16, {kDlBfloat, 16, 1}},
    {DType::i64, {kDlInt, 64, 1}},   {DType::i32, {kDlInt, 32, 1}},
    {DType::u8, {kDlUInt, 8, 1}},    {DType::boolean, {kDlBool, 8, 1}},
};

DLDataType type_of(DType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.type == type) return pair.as;
  }
  throw ShapeError("to_dlpack: there is no DLPack type for " + std::string(to_string(type)));
}

std::string describe(const DLDataType& type) {
  constexpr const char* kNames[] = {"int",    "unsigned int", "float", "opaque handle",
                                    "bfloat", "complex",      "bool"};
  std::string name = type.code < std::size(kNames) ? kNames[type.code]
                                                   : "type code " + std::to_string(type.code) + ",";
  name += " of " + std::to_string(type.bits) + " bits";
  if (type.lanes != 1) name += " in " + std::to_string(type.lanes) + " lanes";
  return name;
}

DType checked_type(const DLDataType& given) {
  std::string known;
  for (const TypePair& pair : kTypes) {
    const DLDataType& as = pair.as;
    if (as.code == given.code && as.bits == given.bits && as.lanes == given.lanes) return pair.type;
    known += (known.empty() ? "" : ", ") + std::string(to_string(pair.type));
  }
  throw ShapeError("from_dlpack: elements are " + describe(given) + "; tensors have " + known);
}

std::string describe(const DLDevice& device) {
  switch (device.device_type) {
    case kDlCpu:
      return "host memory";
    case kDlCudaHost:
      return "pinned host memory";
    case kDlCuda:
    case kDlCudaManaged:
      return "memory of cuda:" + std::to_string(device.device_id);
    default:
      return "memory of device type " + std::to_string(device.device_type);
  }
}

void require_device(const DLDevice& given, const Device& device) {
  const bool host = given.device_type == kDlCpu || given.device_type == kDlCudaHost;
  const bool cuda = given.device_type == kDlCuda || given.device_type == kDlCudaManaged;
  const DeviceInfo& info = device.info();
  if (info.kind == DeviceKind::host && host) return;
  if (info.kind == DeviceKind::cuda && cuda && given.device_id == info.index) return;
  throw ShapeError("from_dlpack: the array is in " + describe(given) + ", not on " + device.id());
}

DLDevice device_of(const Device& device) {
  const DeviceInfo& info = device.info();
  return info.kind == DeviceKind::cuda ? DLDevice{kDlCuda, info.index} : DLDevice{kDlCpu, 0};
}

/// What an exported structure owns beside itself.
template <typename Managed>
struct Export {
  Managed managed{};
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  std::shared_ptr<Storage> storage;
};

template <typename Managed>
Managed* exported(const Tensor& tensor, bool may_be_read_only, std::uint64_t* flags) {
  Engine& engine = compute::engine_of(tensor);
  const std::lock_guard lock(engine.mutex());
  auto made = std::make_unique<Export<Managed>>();
  const DLDataType type = type_of(tensor.dtype());
  engine.evaluate(tensor.node(), compute::kEndRead);
  const Node& node = *tensor.node();
  if (node.storage->read_only() && !may_be_read_only) {
    throw ShapeError("to_dlpack_unversioned: the tensor's memory is for reading only, which " +
                     std::string("only version 1 can say; use to_dlpack"));
  }
  node.storage->ticket = 0;  // who has the address may write there
  engine.keep(node);
  for (std::size_t d = 0; d < node.shape.size(); ++d) {
    made->shape[d] = node.shape[d];
    made->strides[d] = node.strides[d];
  }
  made->storage = node.storage;
  made->managed.dl_tensor = {node.address(),
                             device_of(*node.device),
                             static_cast<std::int32_t>(node.shape.size()),
                             type,
                             made->shape.data(),
                             made->strides.data(),
                             0};
  made->managed.manager_ctx = made.get();
  made->managed.deleter = [](Managed* self) {
    delete static_cast<Export<Managed>*>(self->manager_ctx);
  };
  if (flags != nullptr) *flags = node.storage->read_only() ? kDlReadOnly : 0;
  return &made.release()->managed;
}

/// Bytes from the address to the end of the last element in memory; negative strides reach to the
/// other side of it. Throws ShapeError where an element on either side is beyond 2^63 bytes.
std::size_t span_of(const Dims& shape, const Dims& strides, std::size_t element) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  const auto bytes = static_cast<std::int64_t>(element);
  std::int64_t first = 0;
  std::int64_t last = bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t& end = strides[d] < 0 ? first : last;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) ||
        __builtin_mul_overflow(reach, bytes, &reach) || __builtin_add_overflow(end, reach, &end)) {
      throw ShapeError("from_dlpack: strides " + to_string(strides) + " of shape " +
                       to_string(shape) + " reach beyond 2^63 bytes");
    }
  }
  return static_cast<std::size_t>(last);
}

[[noreturn]] void throw_null() { throw ShapeError("from_dlpack: the array is a null pointer"); }

template <typename Managed>
Tensor imported(Managed* array, bool read_only, Device& device) {
  Engine& engine = Engine::of(device);
  const DLTensor& given = array->dl_tensor;
  require_device(given.device, device);
  const DType type = checked_type(given.dtype);
  if (given.ndim < 0 || static_cast<std::size_t>(given.ndim) > kMaxRank) {
    throw ShapeError("from_dlpack: the array has " + std::to_string(given.ndim) +
                     " dimensions; tensors have at most " + std::to_string(kMaxRank));
  }
  const auto rank = static_cast<std::size_t>(given.ndim);
  if (rank != 0 && given.shape == nullptr) {
    throw ShapeError("from_dlpack: the array has " + std::to_string(rank) +
                     " dimensions, but its shape is a null pointer");
  }
  const Dims shape(std::span<const std::int64_t>(given.shape, rank));
  const std::int64_t numel = checked_numel(shape);
  const Dims strides = given.strides == nullptr
                           ? contiguous_strides(shape)
                           : Dims(std::span<const std::int64_t>(given.strides, rank));
  if (numel > 0 && given.data == nullptr) {
    throw ShapeError("from_dlpack: the array of shape " + to_string(shape) +
                     " has elements, but its data is a null pointer");
  }
  const std::size_t span = span_of(shape, strides, size_of(type));
  auto* const first = static_cast<std::byte*>(given.data) + given.byte_offset;
  if (numel > 0 && reinterpret_cast<std::uintptr_t>(first) % size_of(type) != 0) {
    throw ShapeError("from_dlpack: the elements of " + std::to_string(size_of(type)) +
                     " bytes begin at an address that is no multiple of it");
  }
  const std::lock_guard lock(engine.mutex());
  engine.refuse_in_capture("from_dlpack", "import the array before");
  struct Owner {
    Managed* array = nullptr;
    ~Owner() {
      if (array != nullptr && array->deleter != nullptr) array->deleter(array);
    }
  };
  auto owner = std::make_shared<Owner>();
  auto storage = std::make_shared<Storage>(device.shared_from_this(), numel == 0 ? nullptr : first,
                                           span, owner, read_only);
  Tensor tensor(Node::view(device, engine, shape, type, std::move(storage), strides));
  owner->array = array;  // from here on it is ours
  return tensor;
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(const Tensor& tensor) {
  std::uint64_t flags = 0;
  auto* const managed = exported<DLManagedTensorVersioned>(tensor, true, &flags);
  managed->version = {1, 1};
  managed->flags = flags;
  return managed;
}

DLManagedTensor* to_dlpack_unversioned(const Tensor& tensor) {
  return exported<DLManagedTensor>(tensor, false, nullptr);
}

Tensor from_dlpack(DLManagedTensorVersioned* array, Device& device) {
  if (array == nullptr) throw_null();
  // The layout of everything behind the version is another one in another major version.
  if (array->version.major != 1) {
    throw ShapeError("from_dlpack: the array is of DLPack version " +
                     std::to_string(array->version.major) + "." +
                     std::to_string(array->version.minor) + "; version 1 is understood");
  }
  return imported(array, (array->flags & kDlReadOnly) != 0, device);
}

Tensor from_dlpack(DLManagedTensor* array, Device& device) {
  if (array == nullptr) throw_null();
  return imported(array, false, device);
}

bool is_read_only(const Tensor& tensor) {
  Engine& engine = compute::engine_of(tensor);
  const std::lock_guard lock(engine.mutex());
  const NodeRef& node = tensor.node();
  return node->is(compute::NodeKind::storage) && node->storage->read_only();
}

}  // namespace forebay
