// Everything that a first pass would make, made before it.
#pragma once

#include <chrono>

#include "forebay/runtime/device.hpp"

namespace forebay {

/// Makes what the first pass would make otherwise (on a CUDA device the pinned ring of transfers,
/// some 20 ms, and 1/128 of the memory that the pool may hold). Then waits
/// until every program that the device has run and still knows has its kernel, and that by tiles
/// for the transposed inputs with which it has run, so that a graph
/// captures kernels instead of the interpreter: one compilation, some 0.1 s, for each that has
/// none, also of those that ran only once; false if that took longer than `limit`. What is not
/// ready then runs all the same, with the same results. At once on the host. Throws ClosedError,
/// OutOfMemory, DriverError, CaptureError inside of a capture, and DeviceError for a kind of device
/// that does not compute. Thread safety: any thread; others may go on using the device.
bool prepare(Device& device, std::chrono::milliseconds limit = std::chrono::seconds(60));

}  // namespace forebay
