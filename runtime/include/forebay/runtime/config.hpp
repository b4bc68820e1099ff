// The configuration: strict JSON in, the effective configuration out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "forebay/runtime/log.hpp"

namespace forebay {

/// How programs run on a CUDA device. `automatic`: interpreted at once, and compiled when a kernel
/// is ready that was made in the background; `compile` waits for the kernel.
enum class FusionTier : std::uint8_t { automatic, interpret, compile };

/// Limits at which an expression ends and becomes a launch, and how it runs; keys `fusion.*`.
struct FusionConfig {
  std::uint32_t max_ops = 256;    ///< operations of one program
  std::uint32_t max_inputs = 30;  ///< distinct leaves of one program
  std::uint32_t max_height = 64;  ///< height of an expression
  double pinned_fraction = 0.10;  ///< bytes that one expression alone may keep alive / capacity
  FusionTier tier = FusionTier::automatic;
};

/// The pinned ring for transfers; keys `upload.*`.
struct UploadConfig {
  std::size_t ring_bytes = std::size_t{32} << 20;  ///< at most 32 MiB
  std::size_t chunk_bytes = std::size_t{1} << 20;  ///< one piece of it
  std::uint32_t threads = 0;  ///< threads that fill it; 0: eight, or all cores if there are fewer
  bool overlap = true;        ///< whether large uploads pass by the work that is enqueued already
};

/// Compiled kernels on disk; keys `kernels.cache.*`.
struct KernelCacheConfig {
  bool enabled = true;
  std::string folder;  ///< absolute; empty: $XDG_CACHE_HOME/forebay, else $HOME/.cache/forebay
  std::size_t max_bytes = std::size_t{256} << 20;  ///< of all its files
  std::uint32_t max_entries = 4096;
};

/// Kernels; keys `kernels.*`.
struct KernelConfig {
  KernelCacheConfig cache;
  bool compiler_cache = true;  ///< whether NVRTC may use its own cache on disk
  bool graphs = true;   ///< whether kernels are launched as graphs of one node where that is faster
  bool prepare = true;  ///< whether opening a CUDA device warms NVRTC up where programs wait for it
  std::uint32_t compile_after = 2;    ///< runs of a program after which its kernel is made
  std::uint32_t compile_threads = 1;  ///< threads that make kernels in the background
  std::uint32_t queue = 64;           ///< kernels that wait for them at most
};

/// Matrix products; keys `matmul.*`.
struct MatmulConfig {
  std::size_t workspace_bytes = std::size_t{32} << 20;  ///< fixed, for each stream
  std::uint32_t max_plans = 256;  ///< plans kept, the least recently used goes first
};

/// Everything that a file can say. Every key has a default; `configs/default.json` spells them.
struct Config {
  pool::PoolConfig pool;    ///< device memory
  pool::PoolConfig pinned;  ///< pinned host memory of a CUDA device (capacity 0: 1 GiB)
  FusionConfig fusion;
  UploadConfig upload;
  KernelConfig kernels;
  MatmulConfig matmul;
  std::uint32_t host_threads = 0;  ///< threads of the host executor; 0: all cores
  LogLevel log_level = LogLevel::warn;

  /// Reads strict JSON. Throws ConfigError naming file, JSON pointer and what is allowed.
  [[nodiscard]] static Config load(const std::filesystem::path& file);
  /// The same from text; `name` stands for the file in messages.
  [[nodiscard]] static Config parse(std::string_view text, std::string_view name = "configuration");
  /// Every mistake in a file, each as the line that `load` would throw; none if the file is right.
  /// A file that cannot be read or is no JSON is one mistake; after a hundred, one line says that
  /// there are more.
  [[nodiscard]] static std::vector<std::string> mistakes(const std::filesystem::path& file);
  /// The effective configuration as JSON that `parse` accepts.
  [[nodiscard]] std::string to_json() const;
  /// The JSON schema (draft 7) of the configuration: the text of configs/forebay.schema.json.
  [[nodiscard]] static std::string schema();
};

}  // namespace forebay
