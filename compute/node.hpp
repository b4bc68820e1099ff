// Nodes: what a tensor's handle points at, an operation to be done, a constant, or storage.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "forebay/compute/program.hpp"
#include "forebay/compute/shape.hpp"
#include "forebay/compute/tensor.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay::compute {

class Engine;

/// Memory from a device's pool, given back on its default stream with the last owner, or memory of
/// another library, which is told then. After the device has closed there is nothing to give back.
class Storage {
 public:
  /// Memory of `stream`, the default one if null, which comes before all else that uses it. Throws
  /// OutOfMemory, ClosedError. `bytes` may be 0.
  Storage(std::shared_ptr<Device> device, std::size_t bytes, const Stream* stream = nullptr);
  /// Memory of somebody else's at `data`, valid until `owner` goes: see Engine::let_go.
  Storage(std::shared_ptr<Device> device, void* data, std::size_t bytes,
          std::shared_ptr<void> owner, bool read_only) noexcept
      : device_(std::move(device)),
        bytes_(bytes),
        data_(data),
        owner_(std::move(owner)),
        read_only_(read_only) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Another library's: only `assign` may write it, and not even that if it is for reading only.
  [[nodiscard]] bool foreign() const noexcept { return owner_ != nullptr; }
  [[nodiscard]] bool read_only() const noexcept { return read_only_; }

  /// Under which a reduction left this value in a mailbox (mailboxes.hpp); 0 if none did, or once
  /// somebody may have written over it.
  std::uint32_t ticket = 0;
  /// The capture in whose arena it lies; 0 for none.
  std::uint64_t capture = 0;

 private:
  std::shared_ptr<Device> device_;
  std::size_t bytes_;
  void* data_;
  std::shared_ptr<void> owner_;
  bool read_only_ = false;
};

/// What an expression would need as a program; bounds from above where nodes are shared.
struct Weight {
  std::uint32_t ops = 0;
  std::uint32_t leaves = 0;
  std::uint32_t scalars = 0;
  std::uint32_t height = 0;
  std::uint32_t outputs = 0;  ///< known once it is lowered
  std::uint64_t pinned = 0;   ///< bytes of leaves that nobody but the expression holds
};

enum class NodeKind : std::uint8_t {
  operation,  ///< to be done
  constant,   ///< one number, whatever the shape; perhaps a view of one that somebody holds
  storage,    ///< elements in memory, by strides
};

/// Thread safety: counting owners is atomic; everything else is guarded by the engine's mutex once
/// the node is shared.
///
/// Invariants: 1. the operands of an operation have its shape or are constants; 2. a node changes
/// from operation or constant to storage, and from strided to contiguous storage, and its value
/// never does by that; 3. all nodes of an expression belong to one device; 4. a view of a
/// constant holds that one, which is no view itself, and shares its storage as soon as either is
/// needed in memory (Engine::evaluate).
class Node {
 public:
  /// REQUIRES: at least one operand.
  [[nodiscard]] static NodeRef operation(Op op, DType type, const Dims& shape,
                                         std::span<NodeRef> operands);
  [[nodiscard]] static NodeRef constant(Device& device, Engine& engine, const Dims& shape,
                                        DType type, std::uint64_t bits);
  /// Elements of `storage` by `strides`, the first one `offset` elements behind its start.
  [[nodiscard]] static NodeRef view(Device& device, Engine& engine, const Dims& shape, DType type,
                                    std::shared_ptr<Storage> storage, const Dims& strides,
                                    std::int64_t offset = 0);
  /// All of `storage`, row-major.
  [[nodiscard]] static NodeRef whole(Device& device, Engine& engine, const Dims& shape, DType type,
                                     std::shared_ptr<Storage> storage);
  /// The same number as `constant`, in the place that a view by `strides` and `offset` of its
  /// elements has.
  [[nodiscard]] static NodeRef view_of(const NodeRef& constant, const Dims& shape,
                                       const Dims& strides, std::int64_t offset);

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// One owner more.
  [[nodiscard]] static NodeRef share(Node& node) noexcept;
  /// The same unless it has lost its last owner, else none. REQUIRES: it is in the list of what is
  /// pending, and the engine's mutex.
  [[nodiscard]] static NodeRef share_if_alive(Node& node) noexcept;

  /// The value is in `storage` now, row-major from its start. Drops the operands.
  void become_storage(std::shared_ptr<Storage> storage) noexcept;
  /// A constant with a base that is storage becomes a view of it.
  void become_view() noexcept;
  /// A view of a constant is one of `base` from now on, with elements that are no farther apart
  /// than they have to be. If it was not contiguous it does not count as that, so that what shares
  /// memory does not depend on what was evaluated. REQUIRES: a constant of the same number in
  /// `shape_of_base`.
  void change_base(NodeRef base) noexcept;
  /// The shape that holds each element of a view once: repeated ones in one place.
  [[nodiscard]] Dims shape_of_base() const;

  /// The address of the first element; REQUIRES: storage.
  [[nodiscard]] void* address() const noexcept {
    return static_cast<std::byte*>(storage->data()) +
           offset * static_cast<std::int64_t>(size_of(type));
  }
  [[nodiscard]] bool is(NodeKind k) const noexcept { return kind == k; }
  /// Operands in use; none but for operations.
  [[nodiscard]] std::span<const NodeRef> inputs() const noexcept {
    return {operands.data(), static_cast<std::size_t>(kind == NodeKind::operation ? count : 0)};
  }
  /// What a constant is a view of, or none.
  [[nodiscard]] const NodeRef& base() const noexcept { return operands[0]; }
  [[nodiscard]] std::uint32_t owners() const noexcept {
    return refs_.load(std::memory_order_relaxed);
  }
  /// Whether nobody else sees this storage when it has `references` owners of which one knows.
  [[nodiscard]] bool held_only_by(std::uint32_t references) const noexcept {
    return owners() == references && storage.use_count() == 1;
  }

  NodeKind kind;
  DType type;
  Op op = Op::add;
  std::uint8_t count = 0;  ///< operands of an operation
  bool contiguous = true;  ///< but for operations: row-major without gaps
  std::uint64_t bits = 0;  ///< constant, from the lowest bit on
  Dims shape;
  std::int64_t numel = 0;
  Device* device;                  ///< kept by the storage, by an operand, or by `keeper`
  Engine* engine;                  ///< alive while the device is open
  std::shared_ptr<Device> keeper;  ///< of a constant
  std::shared_ptr<Storage> storage;
  Dims strides;
  std::int64_t offset = 0;  ///< of the first element in storage, in elements
  std::array<NodeRef, 3> operands;
  Weight weight;  ///< of an operation

  // Scratch of one walk (walk.hpp).
  std::uint64_t mark = 0;
  std::uint32_t uses = 0;
  std::uint32_t slot = 0;
  // Scratch of one search (pending.hpp).
  std::uint32_t pending_uses = 0;
  bool reads = false;

 private:
  friend class NodeRef;
  friend class Pending;
  Node(NodeKind k, DType t, const Dims& s, Device& d, Engine& e);
  /// Where the elements are in storage.
  void place(const Dims& by, std::int64_t from) noexcept;
  ~Node() = default;
  /// One owner less; whether it was the last. The only owner there is needs no atomic instruction,
  /// unless the engine may find the node and share it: who sees that it no longer may also sees
  /// what it has shared.
  [[nodiscard]] bool leave() noexcept {
    return (!pending_.load(std::memory_order_acquire) &&
            refs_.load(std::memory_order_acquire) == 1) ||
           refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  static void drop(Node* node) noexcept;

  std::atomic<std::uint32_t> refs_{1};
  Node* next_dropped_ = nullptr;
  // The engine's list of what is pending, which one, and whether the node is there.
  bool constant_ = false;
  Node* older_ = nullptr;
  Node* newer_ = nullptr;
  std::atomic<bool> pending_{false};
};

}  // namespace forebay::compute
