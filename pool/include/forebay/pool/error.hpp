// The exception types that every public call of forebay throws.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace forebay {

/// Root of every exception that forebay throws; `what()` is one line fit for a user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No memory of the wanted size could be had; `report()` says what was tried and what would help.
class OutOfMemory : public Error {
 public:
  OutOfMemory(const std::string& line, std::string report)
      : Error(line), report_(std::move(report)) {}
  /// Several lines: requested, in use, pending, held, capacity, largest free run, rungs tried …
  [[nodiscard]] const std::string& report() const noexcept { return report_; }

 private:
  std::string report_;
};

/// A call of the GPU driver or of one of its libraries failed; `code()` is the library's own code.
class DriverError : public Error {
 public:
  DriverError(const std::string& line, int code) : Error(line), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// A device that was asked for is not there or cannot be used; the text says why.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// Generated source did not compile; `log()` is the compiler's output.
class CompileError : public Error {
 public:
  CompileError(const std::string& line, std::string log) : Error(line), log_(std::move(log)) {}
  [[nodiscard]] const std::string& log() const noexcept { return log_; }

 private:
  std::string log_;
};

/// A configuration is wrong; the text names the JSON pointer and what is allowed there.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A trace of allocations is damaged, or says what cannot have happened; the text names the file,
/// the place in it and what is allowed there.
class TraceError : public Error {
 public:
  using Error::Error;
};

/// Shapes, axes or element types do not fit together; the text names each of them.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// Something was asked inside of a capture that no graph can hold; the text names it, and what to
/// do instead.
class CaptureError : public Error {
 public:
  using Error::Error;
};

/// A runtime, device, pool or tensor was used after its runtime was closed.
class ClosedError : public Error {
 public:
  using Error::Error;
};

}  // namespace forebay
