#include "runtime/disk_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "runtime/cache_entry.hpp"

namespace forebay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// A newer stamp is not renewed: it costs a write, and changes no order that matters.
constexpr std::int64_t kFresh = 60 * kSecond;
/// A writer is at work for milliseconds; what is older was left behind.
constexpr std::int64_t kAbandoned = 600 * kSecond;
/// Clocks of machines that share a folder differ by less than that.
constexpr std::int64_t kSkew = 86'400 * kSecond;
constexpr std::uint32_t kStoresPerCount = 32;

/// A stamp from the future was made by a clock that has been set back since; it would never grow
/// old, so it counts as the oldest there is.
std::int64_t age_key(std::int64_t used_ns, std::int64_t now) {
  return used_ns > now + kSkew ? 0 : used_ns;
}

/// Such an error says something about this moment or this entry (EISDIR: a folder with content lies
/// in its place), not about the whole folder.
bool passing(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR ||
         error == EAGAIN || error == ENOENT || error == EEXIST || error == EISDIR;
}

}  // namespace

DiskCache::DiskCache(Options options) : options_(std::move(options)) {
  if (options_.folder.empty()) options_.folder = default_cache_folder();
}
DiskCache::~DiskCache() = default;

DiskCache::Found DiskCache::load(std::string_view material) noexcept {
  try {
    return load_checked(material);
  } catch (const std::exception& error) {
    warn_once(error.what());
    return {};
  }
}

DiskCache::Found DiskCache::load_checked(std::string_view material) {
  using State = CacheFolder::Read::State;
  const auto in = folder();
  if (in == nullptr) return {};
  const std::string name = cache_entry::name_of(material);
  CacheFolder::Read read = in->read(name);
  if (read.state == State::absent || read.state == State::unreadable) return {};
  Found found;
  if (read.state == State::read) {
    const cache_entry::Parts parts = cache_entry::check(read.bytes);
    if (parts.problem.empty() && parts.material == material) {
      const std::int64_t age = file_clock_ns() - read.used_ns;
      if (age < 0 || age > kFresh) in->touch(name);
      read.bytes.erase(0, read.bytes.size() - parts.content.size());
      found.content = std::move(read.bytes);
      return found;
    }
  }
  found.doubtful = true;
  (void)in->remove(name);
  return found;
}

DiskCache::Stored DiskCache::store(std::string_view material, std::string_view content) noexcept {
  try {
    return store_checked(material, content);
  } catch (const std::exception& error) {
    warn_once(error.what());
    return {};
  }
}

DiskCache::Stored DiskCache::store_checked(std::string_view material, std::string_view content) {
  const std::uint64_t bytes = cache_entry::kHeaderBytes + material.size() + content.size();
  if (!writes_.load(std::memory_order_relaxed) || bytes > options_.max_bytes ||
      bytes > cache_entry::kMaxBytes) {
    return {};
  }
  const std::string name = cache_entry::name_of(material);
  const std::string entry = cache_entry::encode(material, content);
  auto in = folder();
  if (in == nullptr) return {};
  int error = in->publish(name, entry);
  if (error == ENOENT) {
    // The folder itself was removed under us; it is made anew once.
    in = folder_instead_of(in);
    if (in == nullptr) return {};
    error = in->publish(name, entry);
  }
  if (error == 0) return {true, bound(*in, name, bytes)};
  if (error == ENOENT) return {};  // somebody clears the cache faster than this can be written
  if (!passing(error)) writes_.store(false, std::memory_order_relaxed);
  warn_once("'" + options_.folder.string() + "' cannot be written: " + std::strerror(error));
  return {};
}

void DiskCache::reject(std::string_view material) noexcept {
  try {
    if (const auto in = folder(); in != nullptr) {
      (void)in->remove(cache_entry::name_of(material));
    }
  } catch (const std::exception& error) {
    warn_once(error.what());
  }
}

std::shared_ptr<CacheFolder> DiskCache::folder_instead_of(
    const std::shared_ptr<CacheFolder>& gone) {
  {
    const std::lock_guard lock(folder_mutex_);
    if (folder_ == gone) folder_.reset();
  }
  return folder();
}

std::shared_ptr<CacheFolder> DiskCache::folder() {
  const std::lock_guard lock(folder_mutex_);
  if (folder_ != nullptr || refused_) return folder_;
  CacheFolder::Opened opened;
  if (options_.folder.empty()) {
    opened.problem = "neither XDG_CACHE_HOME nor HOME holds an absolute path";
  } else {
    opened = CacheFolder::open(options_.folder, CacheFolder::Missing::make);
  }
  if (opened.folder == nullptr) {
    refused_ = true;
    warn_once(opened.problem);
  }
  folder_ = std::move(opened.folder);
  return folder_;
}

std::uint32_t DiskCache::bound(const CacheFolder& folder, const std::string& name,
                               std::uint64_t bytes) {
  const std::lock_guard lock(count_mutex_);
  bytes_ += bytes;
  ++entries_;
  if (until_count_ > 0 && bytes_ <= options_.max_bytes && entries_ <= options_.max_entries) {
    --until_count_;
    return 0;
  }
  until_count_ = kStoresPerCount - 1;
  return evict(folder, name);
}

std::uint32_t DiskCache::evict(const CacheFolder& folder, const std::string& keep) {
  const std::int64_t now = file_clock_ns();
  std::vector<CacheFolder::File> files = folder.list();
  bytes_ = 0;
  entries_ = 0;
  for (CacheFolder::File& file : files) {
    file.used_ns = age_key(file.used_ns, now);
    if (file.temporary && file.used_ns < now - kAbandoned) (void)folder.remove(file.name);
    if (file.temporary) continue;
    bytes_ += file.bytes;
    ++entries_;
  }
  if (bytes_ <= options_.max_bytes && entries_ <= options_.max_entries) return 0;

  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return a.used_ns != b.used_ns ? a.used_ns < b.used_ns : a.name < b.name;
  });
  // An eighth more goes, so that a full cache is not counted at every store.
  const std::uint64_t bytes_goal = options_.max_bytes / 8 * 7;
  const std::uint64_t entries_goal = options_.max_entries - options_.max_entries / 8;
  std::uint32_t evicted = 0;
  for (const CacheFolder::File& file : files) {
    if (bytes_ <= bytes_goal && entries_ <= entries_goal) break;
    if (file.temporary || file.name == keep) continue;
    // Another process may have been faster; gone is gone.
    if (folder.remove(file.name)) ++evicted;
    bytes_ -= file.bytes;
    --entries_;
  }
  return evicted;
}

void DiskCache::warn_once(const std::string& why) noexcept {
  try {
    if (!warned_.exchange(true) && options_.warn) options_.warn(why);
  } catch (const std::exception&) {
    // There is nobody to tell.
  }
}

}  // namespace forebay
