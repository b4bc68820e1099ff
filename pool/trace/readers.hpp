// The readers, one for each format. Each takes a whole content and throws TraceError.
#pragma once

#include <string>
#include <string_view>

#include "forebay/pool/trace.hpp"

namespace forebay::pool {

/// time_us,action,id,size,stream.
[[nodiscard]] Trace read_csv(std::string_view content, std::string_view name);
[[nodiscard]] bool looks_like_csv(std::string_view content) noexcept;

/// The log of RMM's logging adaptor: Thread,Time,Action,Pointer,Size,Stream.
[[nodiscard]] Trace read_rmm(std::string_view content, std::string_view name);
[[nodiscard]] bool looks_like_rmm(std::string_view content) noexcept;

/// PyTorch's memory snapshot.
[[nodiscard]] Trace read_torch(std::string_view content, std::string_view name,
                               const TraceOptions& options);
[[nodiscard]] bool looks_like_pickle(std::string_view content) noexcept;

/// forebay's own format.
[[nodiscard]] Trace read_forebay(std::string_view content, std::string_view name,
                                 const TraceOptions& options);
[[nodiscard]] bool looks_like_forebay(std::string_view content) noexcept;

/// The content of a file, or its beginning if that is not `worth_reading` on. Throws TraceError,
/// also for more than `max_bytes`.
[[nodiscard]] std::string file_content(const std::string& file, std::size_t max_bytes,
                                       bool (*worth_reading)(std::string_view) = nullptr);

/// gzip, also of several members. Throws TraceError for a damaged or truncated one and for more
/// than `max_bytes` inside.
[[nodiscard]] std::string gunzip(std::string_view content, std::string_view name,
                                 std::size_t max_bytes);
[[nodiscard]] bool looks_like_gzip(std::string_view content) noexcept;

}  // namespace forebay::pool
