// Tensors: handles on lazy elementwise expressions or on storage from a device's pool.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "forebay/compute/dtype.hpp"
#include "forebay/compute/shape.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay {

namespace compute {
class Node;
struct AutogradHook;
/// Counts a node's owners by hand, so that a chain of a million nodes is dropped without recursion.
class NodeRef {
 public:
  NodeRef() noexcept = default;
  explicit NodeRef(Node* node) noexcept;  ///< takes over the reference that `node` was made with
  NodeRef(const NodeRef& other) noexcept;
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef() {
    if (node_ != nullptr) release();
  }
  [[nodiscard]] Node* get() const noexcept { return node_; }
  Node* operator->() const noexcept { return node_; }
  Node& operator*() const noexcept { return *node_; }
  explicit operator bool() const noexcept { return node_ != nullptr; }

 private:
  friend class Node;
  void release() noexcept;  ///< one owner less
  Node* node_ = nullptr;
};
}  // namespace compute

/// A number beside a tensor. It brings its category (boolean, integer or real) but no type: beside
/// a tensor of the same or a higher category it takes the tensor's type; else the result is i64 for
/// an integer, f32 for a real one.
class Scalar {
  template <typename T>
  static constexpr bool kBeyondI64 = std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t);

 public:
  /// ShapeError for an integer that i64 does not hold.
  template <typename T>
  requires std::is_arithmetic_v<T>
  constexpr Scalar(T value) noexcept(!kBeyondI64<T>) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<T, bool>) {
      type_ = DType::boolean;
      bits_ = value ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (kBeyondI64<T>) {
        if (value > static_cast<T>(INT64_MAX)) throw_beyond_i64(value);
      }
      type_ = DType::i64;
      bits_ = static_cast<std::uint64_t>(value);
    } else {
      bits_ = std::bit_cast<std::uint64_t>(static_cast<double>(value));
    }
  }
  /// The number as an f64, i64 or boolean.
  [[nodiscard]] constexpr DType type() const noexcept { return type_; }
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }

 private:
  [[noreturn]] static void throw_beyond_i64(std::uint64_t value);

  DType type_ = DType::f64;
  std::uint64_t bits_ = 0;
};

/// An array of up to 8 dimensions on a device.
///
/// Elementwise operations are lazy: they build an expression, which becomes one launch when its
/// value is needed (eval, item, to_host, a view, a reduction, a matrix product) or when it reaches
/// a limit. Intermediate values that somebody still holds are stored by the same launch. Operations
/// take tensors by value, so that a temporary is consumed instead of stored.
///
/// Operands broadcast by NumPy's rules, and types are promoted by PyTorch's (docs/tensors.md).
/// Copies of a Tensor mean the same value. Errors: ShapeError for shapes, types or devices that do
/// not fit; OutOfMemory; ClosedError once the runtime has closed. Thread safety: different tensors
/// may be used from different threads, one tensor by one thread at a time; work of one device is
/// serialised.
class Tensor {
 public:
  Tensor() = default;  ///< no tensor; only assignment and `defined` work

  [[nodiscard]] bool defined() const noexcept { return static_cast<bool>(node_); }
  [[nodiscard]] const Dims& shape() const;
  [[nodiscard]] std::size_t rank() const { return shape().size(); }
  [[nodiscard]] std::int64_t numel() const;
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device& device() const;

  /// Enqueues what is needed to have the value in storage; does not wait.
  const Tensor& eval() const;
  /// The one element of a tensor with one element, converted to `T`. Waits.
  template <typename T = float>
  requires is_element<T>
  [[nodiscard]] T item() const;
  /// All elements in row-major order. Waits. `T` is the tensor's type (ShapeError otherwise).
  template <typename T>
  requires is_element<T>
  [[nodiscard]] std::vector<T> to_host() const;
  /// The same into memory of the caller; ShapeError if `target.size()` is not `numel()`.
  template <typename T>
  requires is_element<T>
  void copy_to_host(std::span<T> target) const;

  /// The address of the first element in device memory; evaluates. The tensor is contiguous: a view
  /// with strides moves to memory of its own. CaptureError for one inside of a capture, unless its
  /// elements are memory of that; `reshape` to the same shape copies them.
  [[nodiscard]] void* data() const;

  /// One extent may be -1: what is left over.
  [[nodiscard]] Tensor reshape(const Dims& shape) const;
  /// Two dimensions exchanged; negative counts from the end. A view.
  [[nodiscard]] Tensor transpose(int a = -2, int b = -1) const;
  [[nodiscard]] Tensor broadcast_to(const Dims& shape) const;
  /// Cast. Reals become integers toward zero and saturate, NaN gives 0; integers wrap where they
  /// do not fit; a boolean is whether the number is not 0; reals are rounded to the nearest.
  [[nodiscard]] Tensor to(DType type) const;

  /// Over the given axes (negative from the end), all without any; of no dimensions there are axes
  /// 0 and -1 all the same. Sums of integers and booleans are i64, modulo 2^64; mean needs a real
  /// type (ShapeError).
  [[nodiscard]] Tensor sum(const Axes& axes = {}, bool keepdim = false) const&;
  [[nodiscard]] Tensor sum(const Axes& axes = {}, bool keepdim = false) &&;
  [[nodiscard]] Tensor mean(const Axes& axes = {}, bool keepdim = false) const&;
  [[nodiscard]] Tensor mean(const Axes& axes = {}, bool keepdim = false) &&;
  /// Products are of the type of sums.
  [[nodiscard]] Tensor prod(const Axes& axes = {}, bool keepdim = false) const;
  /// NaN wins; ShapeError for the least or largest of no elements.
  [[nodiscard]] Tensor min(const Axes& axes = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor max(const Axes& axes = {}, bool keepdim = false) const;
  /// i64: where the least or largest element stands, counted row-major over the given axes. Of
  /// equal ones the first, of NaNs the first.
  [[nodiscard]] Tensor argmin(const Axes& axes = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor argmax(const Axes& axes = {}, bool keepdim = false) const;
  /// Booleans: whether any, or every, element is not 0. Of none: false, true.
  [[nodiscard]] Tensor any(const Axes& axes = {}, bool keepdim = false) const;
  [[nodiscard]] Tensor all(const Axes& axes = {}, bool keepdim = false) const;
  /// The mean square distance from the mean, over one element less if `unbiased` (NaN for one
  /// element then). Two passes; the mean is rounded to the tensor's type between them, and the
  /// square of what that takes away is in the result. Reals (ShapeError).
  [[nodiscard]] Tensor var(const Axes& axes = {}, bool unbiased = true, bool keepdim = false) const;
  /// The square root of the sum of squares. Reals (ShapeError).
  [[nodiscard]] Tensor norm(const Axes& axes = {}, bool keepdim = false) const;

  /// The same storage without autograd. Shares memory.
  [[nodiscard]] Tensor detach() const;

  // For the layers of this library.
  explicit Tensor(compute::NodeRef node) noexcept : node_(std::move(node)) {}
  [[nodiscard]] const compute::NodeRef& node() const& noexcept { return node_; }
  /// Takes it; the tensor is none then.
  [[nodiscard]] compute::NodeRef node() && noexcept { return std::move(node_); }
  [[nodiscard]] const std::shared_ptr<compute::AutogradHook>& autograd() const noexcept {
    return autograd_;
  }
  void set_autograd(std::shared_ptr<compute::AutogradHook> hook) noexcept {
    autograd_ = std::move(hook);
  }

 private:
  compute::NodeRef node_;
  std::shared_ptr<compute::AutogradHook> autograd_;
};

// Making tensors. ShapeError for a negative or overflowing shape, OutOfMemory.
[[nodiscard]] Tensor empty(const Dims& shape, Device& device, DType type = DType::f32);
/// `value` everywhere, in its own type …
template <typename T>
requires is_element<T>
[[nodiscard]] Tensor full(const Dims& shape, T value, Device& device);
/// … or cast to `type`.
[[nodiscard]] Tensor full(const Dims& shape, Scalar value, Device& device, DType type);
[[nodiscard]] Tensor zeros(const Dims& shape, Device& device, DType type = DType::f32);
[[nodiscard]] Tensor ones(const Dims& shape, Device& device, DType type = DType::f32);
/// Uploads `data` in row-major order, converted to `type`. The data may change when it returns.
template <typename T>
requires is_element<T>
[[nodiscard]] Tensor from_host(std::span<const T> data, const Dims& shape, Device& device,
                               DType type = dtype_of<T>);
/// Uploads many buffers of one shape together, which keeps the transfer busy.
template <typename T>
requires is_element<T>
[[nodiscard]] std::vector<Tensor> from_host_many(std::span<const std::span<const T>> data,
                                                 const Dims& shape, Device& device,
                                                 DType type = dtype_of<T>);
/// Philox 4x32-10 with `key` and the element's index as counter: the same numbers on every device.
/// Uniform in [0, 1): multiples of 2^-24, in f64 of 2^-53. In f16 and bf16 the numbers of f32 cut
/// down to multiples of 2^-11 and 2^-8, so that none rounds up to 1. ShapeError unless real.
[[nodiscard]] Tensor random_uniform(const Dims& shape, std::uint64_t key, Device& device,
                                    DType type = DType::f32);
/// Standard normal by Box and Muller's formula from two uniform numbers of the same counter. In f16
/// and bf16 the numbers of f32, rounded. ShapeError unless real.
[[nodiscard]] Tensor random_normal(const Dims& shape, std::uint64_t key, Device& device,
                                   DType type = DType::f32);

// Elementwise. Lazy.
[[nodiscard]] Tensor operator+(Tensor a, Tensor b);
[[nodiscard]] Tensor operator-(Tensor a, Tensor b);
[[nodiscard]] Tensor operator*(Tensor a, Tensor b);
[[nodiscard]] Tensor operator/(Tensor a, Tensor b);  ///< integers become f32
[[nodiscard]] Tensor operator+(Tensor a, Scalar b);
[[nodiscard]] Tensor operator-(Tensor a, Scalar b);
[[nodiscard]] Tensor operator*(Tensor a, Scalar b);
[[nodiscard]] Tensor operator/(Tensor a, Scalar b);
[[nodiscard]] Tensor operator+(Scalar a, Tensor b);
[[nodiscard]] Tensor operator-(Scalar a, Tensor b);
[[nodiscard]] Tensor operator*(Scalar a, Tensor b);
[[nodiscard]] Tensor operator/(Scalar a, Tensor b);
[[nodiscard]] Tensor operator-(Tensor a);
// All types but booleans (ShapeError).
[[nodiscard]] Tensor abs(Tensor a);   ///< the least integer stays itself
[[nodiscard]] Tensor sign(Tensor a);  ///< -1, 0 or 1; NaN stays NaN, a zero keeps its sign
[[nodiscard]] Tensor relu(Tensor a);  ///< NaN stays NaN
// Reals; integers and booleans become f32.
[[nodiscard]] Tensor exp(Tensor a);
[[nodiscard]] Tensor log(Tensor a);   ///< -inf at 0, NaN below
[[nodiscard]] Tensor sqrt(Tensor a);  ///< correctly rounded
// All types. An integer beside integers is compared as it is, also where their type cannot hold it;
// what minimum and maximum would give of it then is the end of the type.
[[nodiscard]] Tensor minimum(Tensor a, Tensor b);  ///< NaN if either is
[[nodiscard]] Tensor minimum(Tensor a, Scalar b);
[[nodiscard]] Tensor maximum(Tensor a, Tensor b);
[[nodiscard]] Tensor maximum(Tensor a, Scalar b);
[[nodiscard]] Tensor greater(Tensor a, Tensor b);  ///< booleans
[[nodiscard]] Tensor greater(Tensor a, Scalar b);
[[nodiscard]] Tensor equal(Tensor a, Tensor b);
[[nodiscard]] Tensor equal(Tensor a, Scalar b);
/// a where the condition is not 0, else b.
[[nodiscard]] Tensor where(Tensor condition, Tensor a, Tensor b);
[[nodiscard]] Tensor where(Tensor condition, Tensor a, Scalar b);
[[nodiscard]] Tensor where(Tensor condition, Scalar a, Tensor b);

/// [m, k] · [k, n] → [m, n], f32, enqueued at once. ShapeError names both shapes.
[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b);

/// Evaluates several tensors, sharing launches where expressions have the same shape. Does not
/// wait.
void eval(std::span<const Tensor> tensors);

/// Overwrites the elements of `target` (same shape, type and device); every tensor that shares its
/// storage sees it, but for expressions that are still lazy: those see the old value, and are
/// evaluated before it is written if they read it. For optimizers and buffers. An expression is
/// written in place by one launch and stays an expression, without a new allocation unless it reads
/// what is written and somebody holds it besides: then it is stored, and copied. Where `target` is
/// a view with strides of its own, an expression is evaluated first, and a second launch writes
/// through the view; a target of which elements share memory, as in one that was broadcast, is a
/// ShapeError that names its shape and strides. Storage that autograd saved is seen changed too:
/// between forward and backward that makes wrong gradients.
void assign(const Tensor& target, const Tensor& value);
/// The same of a value that the caller gives away, so that it need not be kept: one launch for
/// `assign(p, p - g * lr)`.
void assign(const Tensor& target, Tensor&& value);

}  // namespace forebay
