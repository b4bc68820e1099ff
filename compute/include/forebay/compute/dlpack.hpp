// Tensors of other libraries without a copy, and theirs of ours, by DLPack's structures.
#pragma once

#include "forebay/compute/tensor.hpp"

// As <dlpack/dlpack.h> defines them, which this library does not need.
struct DLManagedTensor;           // NOLINT(readability-identifier-naming)
struct DLManagedTensorVersioned;  // NOLINT(readability-identifier-naming)

namespace forebay {

/// The tensor's elements where they are, with its shape and strides, as DLPack 1. An expression is
/// evaluated first. The structure keeps the memory until its deleter is called, which may happen on
/// any thread. Its owner reads what `tensor` holds by then and may write it, unless the memory is
/// another library's for reading only, which the flags then say.
///
/// On a CUDA device the elements are there once the work of the device's default stream is done:
/// the consumer's stream has to wait for that one. REQUIRES: the deleter is called before the
/// runtime closes, which takes the memory with it. Throws as Tensor::eval.
[[nodiscard]] DLManagedTensorVersioned* to_dlpack(const Tensor& tensor);
/// The same in the form from before version 1, which has no flags: ShapeError for memory that is
/// for reading only.
[[nodiscard]] DLManagedTensor* to_dlpack_unversioned(const Tensor& tensor);

/// A tensor on memory of another library: nothing is copied, whatever the strides. Takes the
/// structure over, and calls its deleter once the last tensor on the memory and the last graph that
/// uses it are gone and the work that the device was given is done, for which it waits then; inside
/// of a capture that comes at its end. The deleter may run while the device is locked, so it must
/// not wait for a thread that uses tensors. What was thrown leaves the structure the caller's.
///
/// The memory is never written but by `assign`, and by kernels that were given its address; for
/// reading only, `assign` and Adam refuse it. On a CUDA device the default stream has to be ordered
/// behind the producer's.
///
/// Throws ShapeError, naming what was given and what would do: for memory of another device than
/// `device`, an element type or a rank that tensors do not have, elements at an address that is no
/// multiple of their size, or a version other than 1. CaptureError inside of a capture.
[[nodiscard]] Tensor from_dlpack(DLManagedTensorVersioned* array, Device& device);
[[nodiscard]] Tensor from_dlpack(DLManagedTensor* array, Device& device);

/// Whether the tensor lies in memory that another library gave for reading only.
[[nodiscard]] bool is_read_only(const Tensor& tensor);

}  // namespace forebay
