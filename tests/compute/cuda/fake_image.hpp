// Fat binaries as far as the fake driver looks into them.
#pragma once

#include <array>
#include <cstddef>

#include "compute/cuda/interpreter_image.hpp"

namespace forebay::test {

alignas(8) inline constexpr std::array<std::byte, 64> kFakeImageBytes{
    std::byte{0x50}, std::byte{0xED}, std::byte{0x55}, std::byte{0xBA}};
inline constexpr cuda::InterpreterImage kFakeImage{kFakeImageBytes, kFakeImageBytes};

}  // namespace forebay::test
