// A fat binary as far as the fake driver looks into one.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace forebay::test {

alignas(8) inline constexpr std::array<std::byte, 64> kFakeImageBytes{
    std::byte{0x50}, std::byte{0xED}, std::byte{0x55}, std::byte{0xBA}};
inline constexpr std::span<const std::byte> kFakeImage{kFakeImageBytes};

}  // namespace forebay::test
