#include "runtime/config_keys.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "runtime/size_text.hpp"

namespace forebay::config_keys {

namespace {

using pool::PoolConfig;

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
constexpr double kGiB = 1024 * kMiB;
constexpr double kTiB = 1024 * kGiB;

constexpr std::array<std::string_view, 2> kModes{"pooled", "passthrough"};
constexpr std::array<std::string_view, 2> kBackings{"vmm", "malloc"};
constexpr std::array<std::string_view, 3> kPeers{"none", "reachable", "all"};
constexpr std::array<std::string_view, 2> kExports{"none", "fd"};
constexpr std::array<std::string_view, 2> kMisuse{"log", "abort"};
constexpr std::array<std::string_view, 3> kStacks{"off", "sampled", "all"};
constexpr std::array<std::string_view, 3> kTiers{"auto", "interpret", "compile"};
constexpr std::array<std::string_view, 6> kLevels{"trace", "debug", "info", "warn", "error", "off"};

/// What a pool must have for a key to do anything: pooling (as against passthrough), or handles too
/// (as against regions).
enum class Needs : std::uint8_t { nothing, pooling, handles };

/// Which pools have a key: all, or only that of a device, since pinned memory comes in regions and
/// is everybody's.
enum class Of : std::uint8_t { every, device };

/// A key of a pool: the table has it once for each pool.
struct PoolKey {
  const char* name;
  const char* description;
  Range range;
  Field (*field)(PoolConfig&);
  Needs needs;
  /// As Key::clash; the answer may name other keys, relative to the pool's object.
  std::string (*clash)(const PoolConfig&);
  Of of = Of::every;
};

std::string no_clash(const PoolConfig&) { return {}; }

constexpr std::array kPoolKeys{
    PoolKey{"capacity",
            "Bytes that the pool may hold; 0 means @.",
            {2 * kMiB, 128 * kTiB, true},
            [](PoolConfig& c) -> Field { return &c.capacity; },
            Needs::nothing,
            no_clash},
    PoolKey{"soft_limit",
            "Bytes above which memory is taken from other streams and moved before any is added; 0 "
            "means the capacity.",
            {2 * kMiB, 128 * kTiB, true},
            [](PoolConfig& c) -> Field { return &c.soft_limit; },
            Needs::pooling,
            [](const PoolConfig& c) -> std::string {
              if (c.capacity == 0 || c.soft_limit <= c.capacity) return {};
              return "more than capacity (" + format_size(c.capacity) + ")";
            }},
    PoolKey{"headroom",
            "Bytes of the device's memory that the pool leaves free for others.",
            {0, 128 * kTiB, true},
            [](PoolConfig& c) -> Field { return &c.headroom; },
            Needs::pooling,
            no_clash},
    PoolKey{"ladder",
            "What is tried, in this order, when a stream's own memory serves no request; what is "
            "left out is not tried.",
            {},
            [](PoolConfig& c) -> Field { return &c.ladder; },
            Needs::pooling,
            no_clash},
    PoolKey{"address_range",
            "Bytes of addresses that are reserved once; 0 means eight times the capacity.",
            {2 * kMiB, 128 * kTiB, true},
            [](PoolConfig& c) -> Field { return &c.address_range; },
            Needs::handles,
            [](const PoolConfig& c) -> std::string {
              if (c.address_range == 0 || c.address_range >= c.capacity) return {};
              return "less than capacity (" + format_size(c.capacity) + ")";
            },
            Of::device},
    PoolKey{"handle_size",
            "Bytes of a new piece of physical memory; 0 means by handle_count.",
            {2 * kMiB, 64 * kGiB, true},
            [](PoolConfig& c) -> Field { return &c.handle_size; },
            Needs::pooling,
            [](const PoolConfig& c) -> std::string {
              if (c.handle_size % (std::size_t{2} << 20) != 0) return "not a multiple of 2 MiB";
              if (c.capacity == 0 || c.handle_size <= c.capacity) return {};
              return "more than capacity (" + format_size(c.capacity) + ")";
            }},
    PoolKey{"handle_count",
            "The capacity over this, rounded down to a power of two from 2 MiB to handle_max, is "
            "the size of a new piece of physical memory.",
            {1, 1'048'576, false},
            [](PoolConfig& c) -> Field { return &c.handle_count; },
            Needs::pooling,
            no_clash},
    PoolKey{"handle_max",
            "The most that handle_count makes of a handle.",
            {2 * kMiB, 64 * kGiB, false},
            [](PoolConfig& c) -> Field { return &c.handle_max; },
            Needs::pooling,
            no_clash},
    PoolKey{"idle_share",
            "While a pool holds less than a quarter of its capacity and more than this share of "
            "that is free, free memory is moved to where it is needed instead of adding more.",
            {0, 1, false},
            [](PoolConfig& c) -> Field { return &c.idle_share; },
            Needs::handles,
            no_clash,
            Of::device},
    PoolKey{"growth_step",
            "Each growth adds this share of the memory held, or of 1/64 of the capacity if that is "
            "more, beyond what is needed.",
            {0, 1, false},
            [](PoolConfig& c) -> Field { return &c.growth_step; },
            Needs::handles,
            no_clash,
            Of::device},
    PoolKey{"slab/max_block",
            "Blocks up to this size come from slabs.",
            {256, 64 * kKiB, false},
            [](PoolConfig& c) -> Field { return &c.slab_max_block; },
            Needs::pooling,
            no_clash},
    PoolKey{
        "buddy/max_block",
        "Larger blocks up to this size come from buddies, rounded up to a power of two; 0 means "
        "none do.",
        {512, 1 * kMiB, true},
        [](PoolConfig& c) -> Field { return &c.buddy_max_block; },
        Needs::pooling,
        [](const PoolConfig& c) -> std::string {
          if (c.buddy_max_block == 0 || c.buddy_max_block > c.slab_max_block) return {};
          return "not above slab/max_block (" + format_size(c.slab_max_block) +
                 "), so it has no effect";
        }},
    PoolKey{"parked_spans",
            "Blocks above the buddies' border that a stream keeps when it frees them, for its next "
            "allocations of the same size; a miss gives them back.",
            {0, 32, false},
            [](PoolConfig& c) -> Field { return &c.parked_spans; },
            Needs::pooling,
            no_clash},
    PoolKey{"points/every_frees",
            "A point is recorded on a stream after so many frees; after up to 256 times as many "
            "while every allocation of the pool is served by its stream's own cache.",
            {1, 65536, false},
            [](PoolConfig& c) -> Field { return &c.point_every_frees; },
            Needs::nothing,
            no_clash},
    PoolKey{
        "wait_limit_ms",
        "After so many milliseconds an allocation begins no further wait for pending frees, and "
        "fails; 0 means it does not wait.",
        {0, 3'600'000, true},
        [](PoolConfig& c) -> Field { return &c.wait_limit_ms; },
        Needs::nothing,
        no_clash},
    PoolKey{"latency_sample",
            "One operation in so many is timed; 0 means none is.",
            {1, 1'000'000'000, true},
            [](PoolConfig& c) -> Field { return &c.latency_sample; },
            Needs::nothing,
            no_clash},
    PoolKey{"trace/ring_bytes",
            "Bytes of the ring that records what the pool is asked, 32 for each allocation, free "
            "and use, to be written as a trace; 0 means nothing is recorded.",
            {64 * kKiB, 64 * kGiB, true},
            [](PoolConfig& c) -> Field { return &c.trace_ring_bytes; },
            Needs::nothing,
            no_clash},
    PoolKey{"mode",
            "Whether memory is pooled, or each allocation passes through to the driver, so that a "
            "memory checker sees its bounds.",
            {},
            [](PoolConfig& c) -> Field { return &c.mode; },
            Needs::nothing,
            no_clash},
    PoolKey{"backing",
            "What the pool is made of: pieces of memory that are mapped where they are needed, or "
            "regions from the driver's plain allocator; fixed when the pool is made.",
            {},
            [](PoolConfig& c) -> Field { return &c.backing; },
            Needs::pooling,
            no_clash,
            Of::device},
    PoolKey{"peers",
            "Which other devices read and write the pool's memory: none, those that can reach it, "
            "or all, where one that cannot is an error.",
            {},
            [](PoolConfig& c) -> Field { return &c.peers; },
            Needs::nothing,
            no_clash,
            Of::device},
    PoolKey{"export",
            "Whether blocks can be given to other processes, as file descriptors.",
            {},
            [](PoolConfig& c) -> Field { return &c.export_as; },
            Needs::handles,
            [](const PoolConfig& c) -> std::string {
              if (c.export_as == pool::PoolExport::none) return {};
              if (c.mode != pool::PoolMode::pooled) return "impossible with mode \"passthrough\"";
              if (c.backing == pool::PoolBacking::vmm) return {};
              return "impossible with backing \"malloc\"";
            },
            Of::device},
    PoolKey{
        "on_misuse",
        "What follows a double free and the like: a line in the log, or the end of the process.",
        {},
        [](PoolConfig& c) -> Field { return &c.on_misuse; },
        Needs::nothing,
        no_clash},
    PoolKey{"leaks/stacks",
            "Whose call stacks are kept, so that a leak report tells where blocks came from: of no "
            "allocation, of a sample, or of all.",
            {},
            [](PoolConfig& c) -> Field { return &c.leak_stacks; },
            Needs::nothing,
            no_clash},
    PoolKey{"leaks/sample_bytes",
            "Mean bytes allocated between two sampled stacks; large blocks are in the sample "
            "more often, in proportion.",
            {1, 1 * kTiB, false},
            [](PoolConfig& c) -> Field { return &c.leak_sample_bytes; },
            Needs::nothing,
            [](const PoolConfig& c) -> std::string {
              if (c.leak_stacks == pool::StackMode::sampled ||
                  c.leak_sample_bytes == PoolConfig{}.leak_sample_bytes) {
                return {};
              }
              return "without effect as long as leaks/stacks is not \"sampled\"";
            }},
    PoolKey{"debug/fill",
            "Whether blocks are filled with 0xFF (a NaN of every floating type) when they are "
            "allocated and with 0xEF when they are freed.",
            {},
            [](PoolConfig& c) -> Field { return &c.debug_fill; },
            Needs::nothing,
            no_clash},
    PoolKey{"debug/canary",
            "Bytes behind each block that are filled, and checked when it is freed, for which the "
            "free waits for its stream; 0 means none.",
            {1, 1 * kMiB, true},
            [](PoolConfig& c) -> Field { return &c.debug_canary; },
            Needs::nothing,
            no_clash},
    PoolKey{"debug/guard_sample",
            "One block in so many ends where no memory is mapped, so that an access behind it "
            "faults; at most 64 at a time and an eighth of the capacity; 0 means none does.",
            {1, 1'000'000'000, true},
            [](PoolConfig& c) -> Field { return &c.debug_guard_sample; },
            Needs::handles,
            no_clash},
    PoolKey{
        "debug/quarantine",
        "Bytes of freed blocks that are kept from being used again, and with debug/fill checked "
        "for later writes; 0 means none.",
        {1, 128 * kTiB, true},
        [](PoolConfig& c) -> Field { return &c.debug_quarantine; },
        Needs::nothing,
        no_clash},
};

/// `is`: of which pool it is a section. `no_capacity`: what a capacity of 0 means, in place of the
/// description's @.
void add_pool(std::vector<Key>& keys, const std::string& section, PoolConfig Config::*member, Of is,
              std::string_view no_capacity) {
  for (const PoolKey& pool_key : kPoolKeys) {
    if (pool_key.of == Of::device && is != Of::device) continue;
    Key key;
    key.pointer = "/" + section + "/" + pool_key.name;
    key.description = pool_key.description;
    if (const auto at = key.description.find('@'); at != std::string::npos) {
      key.description.replace(at, 1, no_capacity);
    }
    key.range = pool_key.range;
    key.field = [member, &pool_key](Config& c) { return pool_key.field(c.*member); };
    key.clash = [member, &pool_key](const Config& c) { return pool_key.clash(c.*member); };
    key.idle = [=, &pool_key](const Config& c) -> std::string {
      const PoolConfig& config = c.*member;
      if (pool_key.needs == Needs::nothing) return {};
      if (config.mode != pool::PoolMode::pooled) return "/" + section + "/mode is \"passthrough\"";
      if (pool_key.needs == Needs::pooling || config.backing == pool::PoolBacking::vmm) return {};
      return "/" + section + "/backing is \"malloc\"";
    };
    keys.push_back(std::move(key));
  }
}

/// The folder's and the limits of the kernel cache, which do nothing while it is off.
void add_kernel_cache(std::vector<Key>& keys, const char* pointer, const char* description,
                      Range range, std::function<Field(Config&)> field) {
  const auto idle = [](const Config& c) -> std::string {
    return c.kernels.cache.enabled ? "" : "/kernels/cache/enabled is false";
  };
  keys.push_back({pointer, description, range, std::move(field), idle,
                  [](const Config&) { return std::string(); }});
}

/// What concerns kernels that are made in the background.
void add_background(std::vector<Key>& keys, const char* pointer, const char* description,
                    Range range, std::function<Field(Config&)> field) {
  const auto idle = [](const Config& c) -> std::string {
    if (c.fusion.tier == FusionTier::automatic) return {};
    return c.fusion.tier == FusionTier::compile ? "/fusion/tier is \"compile\""
                                                : "/fusion/tier is \"interpret\"";
  };
  keys.push_back({pointer, description, range, std::move(field), idle,
                  [](const Config&) { return std::string(); }});
}

void add(
    std::vector<Key>& keys, const char* pointer, const char* description, Range range,
    std::function<Field(Config&)> field,
    std::function<std::string(const Config&)> clash = [](const Config&) { return ""; }) {
  keys.push_back({pointer, description, range, std::move(field),
                  [](const Config&) { return std::string(); }, std::move(clash)});
}

std::vector<Key> make_table() {
  std::vector<Key> keys;
  add_pool(keys, "pool", &Config::pool, Of::device, "all memory of the device");
  add_pool(keys, "pinned", &Config::pinned, Of::every, "1 GiB");
  add(keys, "/fusion/max_ops",
      "Operations of one program; an expression ends there. A CUDA kernel has at most 216.",
      {1, 4096, false}, [](Config& c) { return &c.fusion.max_ops; });
  add(keys, "/fusion/max_inputs",
      "Distinct inputs of one program; a CUDA kernel has at most 30, and at most 192 constants.",
      {3, 64, false}, [](Config& c) { return &c.fusion.max_inputs; });
  add(keys, "/fusion/max_height", "Height of an expression.", {1, 1024, false},
      [](Config& c) { return &c.fusion.max_height; });
  add(keys, "/fusion/pinned_fraction",
      "Share of the pool's capacity that one expression alone may keep alive.", {0, 1, false},
      [](Config& c) { return &c.fusion.pinned_fraction; });
  add(keys, "/fusion/tier",
      "How programs run on a CUDA device: interpreted at once until their kernels, made in the "
      "background, are ready; interpreted always; or by their kernels "
      "alone, after a wait.",
      {}, [](Config& c) { return &c.fusion.tier; });
  add(keys, "/upload/ring_bytes", "Pinned memory through which transfers go.",
      {64 * kKiB, 32 * kMiB, false}, [](Config& c) { return &c.upload.ring_bytes; });
  add(
      keys, "/upload/chunk_bytes", "One piece of the ring.", {4 * kKiB, 32 * kMiB, false},
      [](Config& c) { return &c.upload.chunk_bytes; },
      [](const Config& c) -> std::string {
        if (c.upload.chunk_bytes <= c.upload.ring_bytes) return {};
        return "more than /upload/ring_bytes (" + format_size(c.upload.ring_bytes) + ")";
      });
  add(keys, "/upload/threads",
      "Threads that fill the ring; 0 means eight, or all cores if there are fewer.", {1, 256, true},
      [](Config& c) { return &c.upload.threads; });
  add(keys, "/upload/overlap",
      "Whether uploads of more than 1 MiB have a stream of their own, on which they pass by the "
      "work that is enqueued already.",
      {}, [](Config& c) { return &c.upload.overlap; });
  add(keys, "/kernels/compiler_cache", "Whether NVRTC may use its own cache on disk.", {},
      [](Config& c) { return &c.kernels.compiler_cache; });
  add(keys, "/kernels/graphs",
      "Whether a program's kernel with a parameter of up to 1024 bytes is launched as a CUDA "
      "graph, which takes less time; some profilers show graphs without kernel names.",
      {}, [](Config& c) { return &c.kernels.graphs; });
  add(keys, "/kernels/prepare",
      "Whether opening a CUDA device opens NVRTC and warms it up, on a thread beside it, where "
      "programs wait for it: without the interpreter, or with /fusion/tier \"compile\".",
      {}, [](Config& c) { return &c.kernels.prepare; });
  add_background(
      keys, "/kernels/compile_after",
      "Runs of a program after which its kernel is made in the background: one run alone "
      "gains nothing from it.",
      {1, 1'000'000, false}, [](Config& c) { return &c.kernels.compile_after; });
  add_background(keys, "/kernels/compile_threads", "Threads that make kernels in the background.",
                 {1, 16, false}, [](Config& c) { return &c.kernels.compile_threads; });
  add_background(
      keys, "/kernels/queue",
      "Kernels that wait for them; the one whose program was used longest ago goes first, "
      "and comes back with its next use.",
      {1, 4096, false}, [](Config& c) { return &c.kernels.queue; });
  add(keys, "/kernels/cache/enabled",
      "Whether compiled kernels are kept on disk, for later processes.", {},
      [](Config& c) { return &c.kernels.cache.enabled; });
  add_kernel_cache(keys, "/kernels/cache/folder",
                   "Where they are kept; \"\" means $XDG_CACHE_HOME/forebay, or "
                   "$HOME/.cache/forebay without that variable.",
                   {}, [](Config& c) { return &c.kernels.cache.folder; });
  add_kernel_cache(keys, "/kernels/cache/max_bytes",
                   "Bytes of all kernels in the folder; the least recently used go first.",
                   {1 * kMiB, 1 * kTiB, false},
                   [](Config& c) { return &c.kernels.cache.max_bytes; });
  add_kernel_cache(keys, "/kernels/cache/max_entries",
                   "Kernels in the folder; the least recently used go first.", {16, 65536, false},
                   [](Config& c) { return &c.kernels.cache.max_entries; });
  add(keys, "/matmul/workspace_bytes", "Workspace of matrix products, for each stream.",
      {0, 1 * kGiB, false}, [](Config& c) { return &c.matmul.workspace_bytes; });
  add(keys, "/matmul/max_plans",
      "Plans of matrix products that are kept; the least recently used goes first.",
      {1, 65536, false}, [](Config& c) { return &c.matmul.max_plans; });
  add(keys, "/host/threads", "Threads of the host executor; 0 means all cores.", {1, 1024, true},
      [](Config& c) { return &c.host_threads; });
  add(keys, "/log/level", "Lines below this level are not written.", {},
      [](Config& c) { return &c.log_level; });
  return keys;
}

/// The field as it stands in a configuration that may not change.
Field field_of(const Key& key, const Config& config) {
  return key.field(const_cast<Config&>(config));
}

std::string text_of(double value, bool size) {
  if (size) return value == 0 ? "0" : format_size(static_cast<std::size_t>(value));
  if (value == static_cast<double>(static_cast<std::int64_t>(value))) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// A path in a message, on one line.
std::string quoted(std::string path) {
  std::replace_if(path.begin(), path.end(), is_control, '?');
  return "\"" + path + "\"";
}

bool is_size(const Field& field) { return std::holds_alternative<std::size_t*>(field); }

std::string text_of_ladder(const pool::Ladder& ladder) {
  std::string text;
  for (const pool::LadderRung rung : ladder) {
    text += (text.empty() ? "\"" : ", \"") + std::string(to_string(rung)) + "\"";
  }
  return "[" + text + "]";
}

std::string text_of_value(const Key& key, const Config& config) {
  const Field of = field_of(key, config);
  if (const auto ladder = std::get_if<pool::Ladder*>(&of)) return text_of_ladder(**ladder);
  const auto names = choices(key);
  const double value = number(key, config);
  if (!names.empty()) return "\"" + std::string(names[static_cast<std::size_t>(value)]) + "\"";
  const Field field = field_of(key, config);
  if (std::holds_alternative<bool*>(field)) return value != 0 ? "true" : "false";
  if (const auto path = std::get_if<std::string*>(&field)) return quoted(**path);
  return text_of(value, is_size(field));
}

/// What the key takes: "a size from 64 KiB to 32 MiB".
std::string limits(const Key& key) {
  const auto names = choices(key);
  if (!names.empty()) {
    std::string text = "one of";
    for (const auto& name : names) {
      text += (name == names.front() ? " \"" : ", \"") + std::string(name) + "\"";
    }
    return text;
  }
  const Field field = field_of(key, Config{});
  if (std::holds_alternative<bool*>(field)) return "true or false";
  if (std::holds_alternative<pool::Ladder*>(field)) {
    const std::string all = text_of_ladder(pool::default_ladder());
    return "a list of \"completed\" first, \"map\", and any others of " +
           all.substr(1, all.size() - 2) + ", each once";
  }
  if (std::holds_alternative<std::string*>(field)) {
    return "\"\" or an absolute path without control characters";
  }
  const bool size = is_size(field);
  std::string text = key.range.or_zero && key.range.least > 0 ? "0 or " : "";
  if (size) {
    text += "a size";
  } else {
    text += std::holds_alternative<double*>(field) ? "a number" : "an integer";
  }
  return text + " from " + text_of(key.range.least, size) + " to " + text_of(key.range.most, size);
}

}  // namespace

const std::vector<Key>& all() {
  // Never destroyed, so that static objects may still dump their configuration at exit.
  static const auto& keys = *new std::vector<Key>(make_table());
  return keys;
}

std::vector<std::string_view> choices(const Key& key) {
  const Field field = field_of(key, Config{});
  if (std::holds_alternative<pool::PoolMode*>(field)) return {kModes.begin(), kModes.end()};
  if (std::holds_alternative<pool::PoolBacking*>(field))
    return {kBackings.begin(), kBackings.end()};
  if (std::holds_alternative<pool::PoolPeers*>(field)) return {kPeers.begin(), kPeers.end()};
  if (std::holds_alternative<pool::PoolExport*>(field)) return {kExports.begin(), kExports.end()};
  if (std::holds_alternative<pool::MisusePolicy*>(field)) return {kMisuse.begin(), kMisuse.end()};
  if (std::holds_alternative<pool::StackMode*>(field)) return {kStacks.begin(), kStacks.end()};
  if (std::holds_alternative<FusionTier*>(field)) return {kTiers.begin(), kTiers.end()};
  if (std::holds_alternative<LogLevel*>(field)) return {kLevels.begin(), kLevels.end()};
  return {};
}

std::string allowed(const Key& key) {
  std::string text = limits(key);
  if (is_size(field_of(key, Config{}))) {
    text += " (an integer in bytes, or a string such as \"64 KiB\")";
  }
  return text;
}

double number(const Key& key, const Config& config) {
  return std::visit(
      [](const auto* value) {
        if constexpr (std::is_same_v<decltype(value), const std::string*>) {
          return static_cast<double>(value->size());
        } else if constexpr (std::is_same_v<decltype(value), const pool::Ladder*>) {
          double digits = 0;
          for (const pool::LadderRung rung : *value) {
            digits = digits * (pool::kLadderRungs + 1) + static_cast<double>(rung) + 1;
          }
          return digits;
        } else {
          return static_cast<double>(*value);
        }
      },
      field_of(key, config));
}

bool is_folder(std::string_view path) {
  return path.empty() || (path.front() == '/' && path.size() <= kLongestFolder &&
                          std::none_of(path.begin(), path.end(), is_control));
}

std::string complaint(const Key& key, const Config& config) {
  const Field field = field_of(key, config);
  if (const auto path = std::get_if<std::string*>(&field)) {
    if (is_folder(**path)) return {};
    return "found " + quoted((*path)->substr(0, 60)) + ", allowed is " + allowed(key);
  }
  if (const auto ladder = std::get_if<pool::Ladder*>(&field)) {
    const auto mistake = pool::ladder_mistake(**ladder);
    return mistake ? "rung " + std::to_string(mistake->at) + ": " + mistake->what : "";
  }
  const double value = number(key, config);
  const auto names = choices(key);
  Range range = key.range;
  if (!names.empty()) range = {0, static_cast<double>(names.size() - 1), false};
  if (std::holds_alternative<bool*>(field)) range = {0, 1, false};
  const bool within = value >= range.least && value <= range.most;  // false for NaN
  if (!within && !(range.or_zero && value == 0)) {
    const std::string found =
        names.empty() ? text_of_value(key, config) : "enumerator " + text_of(value, false);
    return "found " + found + ", allowed is " + allowed(key);
  }
  const std::string clash = key.clash(config);
  if (clash.empty()) return {};
  return "found " + text_of_value(key, config) + ", which is " + clash + "; allowed is " +
         allowed(key);
}

void check(const Config& config, std::string_view name) {
  for (const Key& key : all()) {
    const std::string wrong = complaint(key, config);
    if (!wrong.empty()) throw ConfigError(std::string(name) + ": " + key.pointer + ": " + wrong);
  }
}

std::string guide() {
  std::string text =
      "# Configuration keys\n\n"
      "A configuration is one JSON object; every key may be left out and then has its default.\n"
      "Sizes are integers in bytes or strings such as \"64 KiB\" or \"1.5 GiB\". An unknown key,\n"
      "a key given twice, a wrong type, a value out of range and a key without effect are errors.\n"
      "`configs/default.json` spells every default; `configs/forebay.schema.json` is the schema\n"
      "for editors. `forebay config check FILE` checks a file.\n\n"
      "`pool` is the memory of a device, `pinned` the pinned host memory of a CUDA device. While\n"
      "`mode` is \"passthrough\" or `backing` is \"malloc\", some of a pool's other keys have no\n"
      "effect and must be left out; the message names them. [Sharing](sharing.md) explains\n"
      "`peers` and `export`. [The kernel cache](kernel-cache.md) explains `kernels.cache`.\n\n"
      "| JSON pointer | default | allowed | meaning |\n|---|---|---|---|\n";
  const Config defaults;
  for (const Key& key : all()) {
    text += "| `" + key.pointer + "` | " + text_of_value(key, defaults) + " | " + limits(key) +
            " | " + key.description + " |\n";
  }
  return text;
}

}  // namespace forebay::config_keys
