#include "pool/block_watch.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <new>
#include <utility>

#include "pool/units.hpp"

namespace forebay::pool {
namespace {

/// What a thread found last; for the line that is written about it.
struct Damage {
  Address address = 0;
  std::string text;
};
thread_local Damage last_damage;

constexpr const char* kUntagged = "(untagged)";

std::string_view name_of(const char* tag) { return tag == nullptr ? kUntagged : tag; }

/// A place is so many frames, since a stack with more of the pool's own has fewer of others.
constexpr std::size_t kPlaceFrames = 14;

/// The frames below the pool's own, which come first but for those of a sanitizer.
std::vector<std::string> names(const CallStack& stack, Symbols& symbols) {
  constexpr std::ptrdiff_t kSanitizers = 2;
  const auto is_own = [](const std::string& name) { return name.rfind("forebay::pool::", 0) == 0; };
  std::vector<std::string> all;
  for (int i = 0; i < stack.count; ++i) {
    all.push_back(symbols.name(stack.frames[static_cast<std::size_t>(i)]));
  }
  const auto first = std::find_if(all.begin(), all.end(), is_own);
  const auto end = std::find_if_not(first, all.end(), is_own);
  if (first - all.begin() <= kSanitizers && end != all.end()) all.erase(all.begin(), end);
  if (all.size() > kPlaceFrames) all.resize(kPlaceFrames);
  return all;
}

/// How a damaged block came to be.
std::string origin(const char* tag, const CallStack* site) {
  std::string text = ", tag " + std::string(name_of(tag));
  if (site == nullptr) return text + "; pool.leaks.stacks says where it was allocated";
  Symbols symbols;
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> frames = names(*site, symbols);
  for (std::size_t i = 0; i < std::min(frames.size(), kShown); ++i) {
    text += (i == 0 ? ", allocated in " : " < ") + frames[i];
  }
  return text;
}

/// Says of a block which of its bytes was changed; nothing where the host has no memory for that.
void note_damage(Address address, std::size_t at, std::size_t bytes, const char* where,
                 const char* what, const char* tag, const CallStack* site) noexcept {
  try {
    last_damage = {address, "; byte " + std::to_string(at) + where + std::to_string(bytes) + what +
                                origin(tag, site)};
  } catch (const std::bad_alloc&) {
    last_damage.address = 0;
  }
}

void require(bool holds, const char* key, const char* why) {
  if (!holds) throw ConfigError(std::string("/pool/") + key + ": " + why);
}

}  // namespace

std::unique_ptr<BlockWatch> BlockWatch::make(const PoolConfig& config,
                                             std::shared_ptr<MemoryTools> tools) {
  if (!wanted(config)) return nullptr;
  constexpr const char* kNoTools = "must be off: nothing here can write or read this memory";
  require(tools != nullptr || !config.debug_fill, "debug/fill", kNoTools);
  require(tools != nullptr || config.debug_canary == 0, "debug/canary", kNoTools);
  require(config.leak_stacks != StackMode::sampled || config.leak_sample_bytes > 0,
          "leaks/sample_bytes", "must be at least 1");
  return std::make_unique<BlockWatch>(config, std::move(tools));
}

BlockWatch::BlockWatch(const PoolConfig& config, std::shared_ptr<MemoryTools> tools)
    : config_(config),
      tools_(std::move(tools)),
      records_all_(config.debug_fill || config.debug_canary > 0 || config.debug_quarantine > 0 ||
                   config.leak_stacks == StackMode::all) {}

bool BlockWatch::guard_turn() noexcept {
  const std::uint32_t one_in = config_.debug_guard_sample;
  return one_in > 0 && turns_.fetch_add(1, std::memory_order_relaxed) % one_in == 0;
}

// A Poisson process along the bytes allocated: each byte is as likely as any other to be hit.
std::uint64_t BlockWatch::draw(std::size_t bytes) {
  if (config_.leak_stacks == StackMode::all) return bytes;
  if (config_.leak_stacks == StackMode::off) return 0;
  const auto mean = static_cast<double>(config_.leak_sample_bytes);
  const std::lock_guard lock(draw_mutex_);
  const auto next = [&] {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return -mean * std::log((static_cast<double>(random_ >> 11) + 1) * 0x1p-53);
  };
  if (until_sample_ <= 0) until_sample_ = next();
  until_sample_ -= static_cast<double>(bytes);
  if (until_sample_ > 0) return 0;
  until_sample_ = next();
  // Divided by the chance of being hit.
  const double chance = -std::expm1(-static_cast<double>(bytes) / mean);
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / chance + 0.5);
}

void BlockWatch::enter(Address address, std::size_t bytes, std::size_t tail, StreamId stream,
                       const char* tag, bool guarded) {
  Record record;
  record.bytes = bytes;
  record.tail = tail;
  record.tag = tag;
  record.stream = stream;
  record.guarded = guarded;
  record.stands_for = draw(bytes);
  if (record.stands_for > 0) {
    record.site = std::make_unique<CallStack>(CallStack::take());
    record.number = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
  } else if (!records_all_ && !guarded) {
    return;
  }
  if (config_.debug_fill) fill(address, bytes, kFresh, stream);
  if (config_.debug_canary > 0 && tail > 0) {
    record.canary = fill(address + bytes, tail, kCanary, stream);
  }
  Shard& part = shard(address);
  {
    const std::lock_guard lock(part.mutex);
    part.records.insert_or_assign(address, std::move(record));
  }
  if (guarded) guarded_.fetch_add(1, std::memory_order_relaxed);
}

BlockWatch::Leave BlockWatch::leave(Address address, std::size_t bytes, StreamId stream) noexcept {
  Leave answer;
  Record known;  // a copy without the stack
  Shard& part = shard(address);
  {
    const std::lock_guard lock(part.mutex);
    const auto found = part.records.find(address);
    if (found == part.records.end()) return answer;
    Record& record = found->second;
    if (record.leaving) return {Misuse::double_free};
    if (bytes != 0 && bytes != record.bytes) return {Misuse::size_mismatch};
    record.leaving = true;  // from here on it is this thread's alone
    known.bytes = record.bytes;
    known.tail = record.tail;
    known.canary = record.canary;
    known.shared = record.shared;
    answer.guarded = record.guarded;
  }
  std::size_t damaged = 0;
  if (known.canary) {
    const auto other = first_other(address + known.bytes, known.tail, kCanary, stream);
    answer.overrun = other.has_value() && *other < known.tail;
    damaged = other.value_or(0);
  }
  // What another stream may still be using is not for this one to write.
  const bool filled =
      config_.debug_fill && !known.shared && fill(address, known.bytes, kFreed, stream);
  answer.quarantined = known.bytes <= config_.debug_quarantine;
  std::unique_ptr<CallStack> site;
  {
    const std::lock_guard lock(part.mutex);
    const auto found = part.records.find(address);
    if (found == part.records.end()) return answer;  // the pool was closed meanwhile
    found->second.quarantined = answer.quarantined;
    known.tag = found->second.tag;
    if (answer.overrun) site = std::move(found->second.site);
  }
  if (answer.overrun) {
    note_damage(address, damaged, known.bytes, " behind its ", " bytes was changed", known.tag,
                site.get());
  }
  if (answer.quarantined) {
    // Last: from here on any thread may let it go.
    const std::lock_guard lock(quarantine_mutex_);
    try {
      quarantine_.push_back({address, stream, known.bytes, filled, answer.guarded});
      quarantined_bytes_ += known.bytes;
      return answer;
    } catch (const std::bad_alloc&) {
      answer.quarantined = false;
    }
  }
  (void)remove(address);
  return answer;
}

Misuse BlockWatch::share(Address address) noexcept {
  Shard& part = shard(address);
  const std::lock_guard lock(part.mutex);
  const auto found = part.records.find(address);
  if (found == part.records.end()) return Misuse::none;
  if (found->second.leaving) return Misuse::double_free;
  found->second.shared = true;
  return Misuse::none;
}

std::optional<BlockWatch::Quarantined> BlockWatch::discharge(std::size_t keep,
                                                             const StreamId* stream) noexcept {
  const std::lock_guard lock(quarantine_mutex_);
  if (quarantined_bytes_ <= keep) return std::nullopt;
  const auto oldest = std::find_if(
      quarantine_.begin(), quarantine_.end(),
      [&](const Quarantined& block) { return stream == nullptr || block.stream == *stream; });
  if (oldest == quarantine_.end()) return std::nullopt;
  const Quarantined block = *oldest;
  quarantine_.erase(oldest);
  quarantined_bytes_ -= block.bytes;
  return block;
}

bool BlockWatch::end(const Quarantined& block) noexcept {
  std::optional<std::size_t> other;
  if (block.filled) other = first_other(block.address, block.bytes, kFreed, block.stream);
  const std::optional<Record> record = remove(block.address);
  if (!other.has_value() || *other == block.bytes || !record) return true;
  note_damage(block.address, *other, block.bytes, " of its ", " bytes was changed since",
              record->tag, record->site.get());
  return false;
}

std::optional<BlockWatch::Record> BlockWatch::remove(Address address) noexcept {
  Shard& part = shard(address);
  std::optional<Record> record;
  {
    const std::lock_guard lock(part.mutex);
    const auto found = part.records.find(address);
    if (found == part.records.end()) return record;
    record = std::move(found->second);
    part.records.erase(found);
  }
  if (record->guarded) guarded_.fetch_sub(1, std::memory_order_relaxed);
  return record;
}

std::optional<std::size_t> BlockWatch::first_other(Address address, std::size_t bytes,
                                                   std::uint8_t value, StreamId stream) noexcept {
  checks_.fetch_add(1, std::memory_order_relaxed);
  try {
    std::vector<std::uint8_t> piece(std::min(bytes, kMiB));
    for (std::size_t at = 0; at < bytes; at += piece.size()) {
      const std::size_t length = std::min(piece.size(), bytes - at);
      if (!tools_->read(address + at, length, stream, piece.data())) {
        unchecked_.fetch_add(1, std::memory_order_relaxed);
        return std::nullopt;
      }
      const auto end = piece.begin() + static_cast<std::ptrdiff_t>(length);
      const auto other = std::find_if(piece.begin(), end, [&](auto byte) { return byte != value; });
      if (other != end) return at + static_cast<std::size_t>(other - piece.begin());
    }
    return bytes;
  } catch (...) {  // no host memory
    unchecked_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
}

bool BlockWatch::fill(Address address, std::size_t bytes, std::uint8_t value,
                      StreamId stream) noexcept {
  if (!tools_->fill(address, bytes, value, stream)) return false;
  fills_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::string BlockWatch::damage(Address address) const {
  return last_damage.address == address ? last_damage.text : std::string();
}

LeakReport BlockWatch::report(std::vector<LeakGroup> live) const {
  LeakReport report;
  report.stacks = config_.leak_stacks;
  const bool sampled = config_.leak_stacks == StackMode::sampled;
  if (sampled) report.sample_bytes = config_.leak_sample_bytes;
  std::map<std::pair<std::string_view, CallStack>, LeakGroup> sites;
  std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> apart;  // blocks, bytes
  for (const Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    for (const auto& [address, record] : part.records) {
      if (!record.quarantined && !record.site) continue;
      auto& [blocks, bytes] = apart[name_of(record.tag)];
      ++blocks;
      bytes += record.bytes;
      if (record.quarantined) continue;
      LeakGroup& group = sites[{name_of(record.tag), *record.site}];
      ++group.blocks;
      group.bytes += record.bytes;
      group.estimated_bytes += record.stands_for;
      group.first = group.first == 0 ? record.number : std::min(group.first, record.number);
      group.last = std::max(group.last, record.number);
    }
  }
  // What is live and was not told apart stays one group for each tag.
  for (LeakGroup& group : live) {
    const auto& [blocks, bytes] = apart[group.tag];
    group.blocks -= std::min(group.blocks, blocks);
    group.bytes -= std::min(group.bytes, bytes);
    group.estimated_bytes = sampled ? 0 : group.bytes;
    if (group.blocks > 0) report.groups.push_back(std::move(group));
  }
  if (!sites.empty()) {
    Symbols symbols;
    report.symbols = symbols.source();
    // One place is one group, whichever way through the pool its blocks came.
    std::map<std::pair<std::string_view, std::vector<std::string>>, LeakGroup> places;
    for (const auto& [key, site] : sites) {
      LeakGroup& group = places[{key.first, names(key.second, symbols)}];
      group.blocks += site.blocks;
      group.bytes += site.bytes;
      group.estimated_bytes += site.estimated_bytes;
      group.first = group.first == 0 ? site.first : std::min(group.first, site.first);
      group.last = std::max(group.last, site.last);
    }
    for (auto& [key, group] : places) {
      group.tag = key.first;
      group.site = key.second;
      report.groups.push_back(std::move(group));
    }
  }
  std::stable_sort(
      report.groups.begin(), report.groups.end(), [](const LeakGroup& a, const LeakGroup& b) {
        return std::max(a.bytes, a.estimated_bytes) > std::max(b.bytes, b.estimated_bytes);
      });
  for (const LeakGroup& group : report.groups) {
    report.blocks += group.blocks;
    report.bytes += group.bytes;
  }
  return report;
}

void BlockWatch::count(DebugStats& stats) const {
  const auto read = [](const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  stats.records = records();
  stats.guarded = read(guarded_);
  stats.fills = read(fills_);
  stats.checks = read(checks_);
  stats.unchecked = read(unchecked_);
  const std::lock_guard lock(quarantine_mutex_);
  stats.quarantined_blocks = quarantine_.size();
  stats.quarantined_bytes = quarantined_bytes_;
}

std::size_t BlockWatch::records() const {
  std::size_t sum = 0;
  for (const Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    sum += part.records.size();
  }
  return sum;
}

std::size_t BlockWatch::metadata_bytes() const {
  const std::size_t record = sizeof(Record) + 4 * sizeof(void*) +
                             (config_.leak_stacks == StackMode::off ? 0 : sizeof(CallStack));
  const std::lock_guard lock(quarantine_mutex_);
  return sizeof *this + records() * record + quarantine_.size() * sizeof(Quarantined);
}

void BlockWatch::clear() {
  for (Shard& part : shards_) {
    const std::lock_guard lock(part.mutex);
    part.records.clear();
  }
  guarded_ = 0;
  const std::lock_guard lock(quarantine_mutex_);
  quarantine_.clear();
  quarantined_bytes_ = 0;
}

}  // namespace forebay::pool
