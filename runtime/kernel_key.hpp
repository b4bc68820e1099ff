// Everything that a compiled kernel depends on, as the material of its cache entry.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// Two kernels are the same exactly if all of these are.
struct KernelKey {
  std::string entry;         ///< the kernel's name in the source
  std::string architecture;  ///< exact: "sm_90a" is not "sm_90"
  std::string compiler;      ///< NVRTC's version and build
  std::string options;       ///< as the compiler gets them, one a line
  std::string source;        ///< all of it: it includes nothing
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

/// One text for a key; keys that differ anywhere have different texts. It carries a schema number,
/// to be raised when something else comes to matter.
[[nodiscard]] std::string material_of(const KernelKey& key);

/// The key that makes this text; none if no key does.
[[nodiscard]] std::optional<KernelKey> kernel_key_of(std::string_view material);

}  // namespace forebay
