#include "compute/host/block_run.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "compute/host/streaming.hpp"

namespace forebay::compute::host {
namespace {

// Blocks begin where pages do, as large arrays mostly do: a load that follows a store to the same
// place of another page may wait for it.
constexpr std::size_t kPage = 4096;

// Memory that a thread keeps between runs; it grows to what the largest program needs.
struct Scratch {
  struct Free {
    void operator()(std::byte* bytes) const noexcept {
      ::operator delete[](bytes, std::align_val_t{kPage});
    }
  };
  std::unique_ptr<std::byte[], Free> bytes;
  std::size_t size = 0;
  std::vector<std::byte*> values;
  std::vector<Way> ways;

  std::byte* reserve(std::size_t count) {
    if (count > size) {
      bytes.reset();
      size = 0;
      bytes.reset(static_cast<std::byte*>(::operator new[](count, std::align_val_t{kPage})));
      size = count;
    }
    return bytes.get();
  }

  static Scratch& of_thread() {
    thread_local Scratch scratch;
    return scratch;
  }
};

}  // namespace

BlockRun::BlockRun(const Program& program, const BlockProgram& compiled, const Binding& binding)
    : program_(program),
      compiled_(compiled),
      binding_(binding),
      buffers_(Scratch::of_thread().reserve(compiled.bytes + kBlock * sizeof(std::uint16_t))),
      gathered_(buffers_ + compiled.bytes),
      values_(Scratch::of_thread().values),
      ways_(Scratch::of_thread().ways) {
  const std::size_t leaves = program.leaves.size();
  values_.assign(compiled.place.size(), nullptr);
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (compiled.place[v] != BlockProgram::kNone) values_[v] = buffer_of(v);
  }
  std::uint64_t elements = 1;
  for (const std::int64_t extent : binding.extents) elements *= static_cast<std::uint64_t>(extent);
  const std::size_t most = std::min<std::uint64_t>(elements, kBlock);
  const auto fill_single = [&](std::size_t v, const void* element) {
    fill(v, element, compiled.whole[v] ? most : 1);
  };
  for (std::size_t i = 0; i < leaves; ++i) {
    if (program.leaves[i].access == Access::single) fill_single(i, binding.leaves[i]);
  }
  for (std::size_t i = 0; i < program.scalars.size(); ++i) {
    // The lowest bytes come first.
    fill_single(leaves + i, &binding.scalars[i]);
  }
  ways_.clear();
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    ways_.push_back(way_of(o, elements));
    streams_ |= ways_.back() == Way::streamed;
  }
  if (!needs_buffers()) most_ = std::numeric_limits<std::size_t>::max();
}

BlockRun::~BlockRun() {
  if (streams_) end_streaming();
}

bool BlockRun::needs_buffers() const noexcept {
  if (compiled_.steps.size() != 1 || ways_.empty()) return true;
  const std::size_t inputs = program_.leaves.size() + program_.scalars.size();
  for (std::size_t v = 0; v < inputs; ++v) {
    if (compiled_.whole[v] && compiled_.place[v] != BlockProgram::kNone) return true;
  }
  return std::any_of(ways_.begin(), ways_.end(), [](Way way) { return way != Way::computed; });
}

void BlockRun::fill(std::size_t value, const void* element, std::size_t n) {
  const DType type = compiled_.types[value];
  std::uint64_t bits = 0;
  if (is_as_in_memory(type)) {
    std::memcpy(&bits, element, size_of(type));
  } else {
    loading_kernel(type)(element, element, element, &bits, 1, 0);
  }
  switch (block_size(type)) {
    case 8:
      std::fill_n(reinterpret_cast<std::uint64_t*>(values_[value]), n, bits);
      break;
    case 4:
      std::fill_n(reinterpret_cast<std::uint32_t*>(values_[value]), n,
                  static_cast<std::uint32_t>(bits));
      break;
    default:
      std::memset(values_[value], static_cast<int>(bits & 255U), n);
      break;
  }
}

// A later step may read a leaf whose memory an output overwrites: that output is copied at the end.
// Its lines are in the cache, so that it is not streamed.
Way BlockRun::way_of(std::size_t output, std::uint64_t elements) const noexcept {
  const Value value = program_.outputs[output].value;
  const DType type = compiled_.types[value];
  if (std::find(binding_.leaves.begin(), binding_.leaves.end(), binding_.outputs[output]) !=
      binding_.leaves.end()) {
    return Way::copied;
  }
  // One loop over one array gains nothing: its loads wait for the stores of the block before.
  const bool one_loop = compiled_.steps.size() == 1 && program_.leaves.size() == 1;
  if (!one_loop && elements * size_of(type) >= kStreamedBytes) return Way::streamed;
  const std::size_t inputs = program_.leaves.size() + program_.scalars.size();
  return value >= inputs && !is_narrow(type) ? Way::computed : Way::copied;
}

void BlockRun::block(std::uint64_t index, std::size_t n) {
  for (std::size_t i = 0; i < program_.leaves.size(); ++i) {
    const auto [type, access] = program_.leaves[i];
    if (access == Access::linear && compiled_.place[i] == BlockProgram::kNone) {
      // Read in place, and never written through: only results are.
      const auto* const leaf = static_cast<const std::byte*>(binding_.leaves[i]);
      values_[i] = const_cast<std::byte*>(leaf) + index * size_of(type);
    } else if (access != Access::single) {
      read_leaf(i, index, n);
    }
  }
  for (std::size_t o = 0; o < ways_.size(); ++o) {
    if (ways_[o] != Way::computed) continue;
    const Value value = program_.outputs[o].value;
    values_[value] =
        static_cast<std::byte*>(binding_.outputs[o]) + index * size_of(compiled_.types[value]);
  }
  for (const BlockProgram::Step& step : compiled_.steps) {
    step.kernel(values_[step.a], values_[step.b], values_[step.c], values_[step.out], n, index);
  }
  for (std::size_t o = 0; o < ways_.size(); ++o) {
    if (ways_[o] != Way::computed) store(o, index, n);
  }
}

bool BlockRun::stays(Value v) const noexcept {
  return v >= program_.leaves.size() || program_.leaves[v].access == Access::single ||
         compiled_.place[v] == BlockProgram::kNone;
}

void BlockRun::put(Value v, void* memory) noexcept {
  if (v >= program_.leaves.size() + program_.scalars.size()) {
    values_[v] = static_cast<std::byte*>(memory);
  }
}

void BlockRun::store(std::size_t output, std::uint64_t index, std::size_t n) {
  const Value value = program_.outputs[output].value;
  const DType type = compiled_.types[value];
  const bool streamed = ways_[output] == Way::streamed;
  std::byte* const target =
      static_cast<std::byte*>(binding_.outputs[output]) + index * size_of(type);
  const std::byte* source = values_[value];
  if (is_narrow(type)) {
    std::byte* const narrowed = streamed ? gathered_ : target;
    narrowing_kernel(type)(source, nullptr, nullptr, narrowed, n, 0);
    source = narrowed;
  }
  if (streamed) {
    stream(target, source, n * size_of(type));
  } else if (source != target) {
    std::memcpy(target, source, n * size_of(type));
  }
}

void BlockRun::read_leaf(std::size_t leaf, std::uint64_t index, std::size_t n) {
  const DType type = program_.leaves[leaf].type;
  const auto* source = static_cast<const std::byte*>(binding_.leaves[leaf]);
  if (program_.leaves[leaf].access == Access::linear) {
    source += index * size_of(type);
  } else {
    std::byte* const target = is_as_in_memory(type) ? buffer_of(leaf) : gathered_;
    switch (size_of(type)) {
      case 8:
        source = gather<std::uint64_t>(leaf, target, index, n);
        break;
      case 4:
        source = gather<std::uint32_t>(leaf, target, index, n);
        break;
      case 2:
        source = gather<std::uint16_t>(leaf, target, index, n);
        break;
      default:
        source = gather<std::uint8_t>(leaf, target, index, n);
        break;
    }
  }
  if (is_as_in_memory(type)) {
    // Never written through: only results are.
    values_[leaf] = const_cast<std::byte*>(source);
  } else {
    values_[leaf] = buffer_of(leaf);
    loading_kernel(type)(source, nullptr, nullptr, values_[leaf], n, 0);
  }
}

// Row by row of the last dimension; a block inside one row without gaps is read in place.
template <typename Word>
const std::byte* BlockRun::gather(std::size_t leaf, std::byte* to, std::uint64_t index,
                                  std::size_t n) {
  const Dims& extents = binding_.extents;
  const Dims& strides = binding_.strides[leaf];
  const std::size_t last = extents.size() - 1;
  Dims position = extents;
  std::int64_t offset = 0;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(extents[d]);
    position[d] = static_cast<std::int64_t>(index % extent);
    index /= extent;
    offset += position[d] * strides[d];
  }
  const Word* const base = static_cast<const Word*>(binding_.leaves[leaf]);
  const std::int64_t step = strides[last];
  if (step == 1 && static_cast<std::int64_t>(n) <= extents[last] - position[last]) {
    return reinterpret_cast<const std::byte*>(base + offset);
  }
  Word* target = reinterpret_cast<Word*>(to);
  for (auto left = static_cast<std::int64_t>(n);;) {
    const std::int64_t row = std::min(left, extents[last] - position[last]);
    const Word* const source = base + offset;
    if (step == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(row) * sizeof(Word));
    } else if (step == 0) {
      std::fill_n(target, row, *source);
    } else {
      for (std::int64_t i = 0; i < row; ++i) target[i] = source[i * step];
    }
    target += row;
    left -= row;
    if (left == 0) return to;
    // To the start of the next row.
    offset -= position[last] * step;
    position[last] = 0;
    for (std::size_t d = last; d-- > 0;) {
      offset += strides[d];
      if (++position[d] < extents[d]) break;
      offset -= extents[d] * strides[d];
      position[d] = 0;
    }
  }
}

}  // namespace forebay::compute::host
