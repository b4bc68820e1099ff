// What the machine says about its memory and its processor.
#pragma once

#include <cstddef>
#include <string>

namespace forebay::host {

/// Bytes that this process may use: the machine's memory, or the limit of its control group if
/// that is lower.
[[nodiscard]] std::size_t total_memory() noexcept;

/// Bytes that could be had now without swapping, within the limit of the control group.
[[nodiscard]] std::size_t available_memory() noexcept;

/// "AMD EPYC 9554 64-Core Processor"; the architecture where the machine does not say more.
[[nodiscard]] std::string processor_name();

/// "x86-64", "aarch64" …
[[nodiscard]] std::string architecture();

/// Cores that this process may run on.
[[nodiscard]] int cores() noexcept;

}  // namespace forebay::host
