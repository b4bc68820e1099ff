// Modules: named trees of parameters with a forward function.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "forebay/nn/autograd.hpp"

namespace forebay::nn {

/// A handle on a shared module, such as Linear.
template <typename T>
concept Holder = requires(const T& holder) {
  holder.ptr();
};

/// A part of a network: its own parameters and the modules below it, in the order in which they
/// were registered. Thread safety: one thread at a time.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// The module's value for `input`. Throws Error unless a derived class says what it is.
  [[nodiscard]] virtual Tensor forward(Tensor input);

  /// Every parameter of this module and those below it, once each.
  [[nodiscard]] std::vector<Tensor> parameters() const;
  /// The same with names such as "0.weight": the path of modules, joined by dots.
  [[nodiscard]] std::vector<std::pair<std::string, Tensor>> named_parameters() const;
  /// zero_grad for every parameter.
  void zero_grad();

  /// Makes `value` a parameter: a leaf, which is returned. Throws Error for an empty name, a dot in
  /// it, or one that is taken.
  Tensor register_parameter(std::string name, const Tensor& value);
  /// Puts `module` below this one and returns it. Errors as above, and Error for null and for a
  /// module that is this one or contains it.
  template <std::derived_from<Module> M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_module(std::move(name), module);
    return module;
  }
  /// The same for a holder.
  template <Holder H>
  H register_module(std::string name, H holder) {
    add_module(std::move(name), holder.ptr());
    return holder;
  }

 private:
  void add_module(std::string name, std::shared_ptr<Module> module);
  [[nodiscard]] bool contains(const Module& other) const;  // or is it
  void require_free(const std::string& name) const;
  void collect(const std::string& prefix, std::vector<std::pair<std::string, Tensor>>& found) const;

  std::vector<std::pair<std::string, Tensor>> parameters_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> modules_;
};

/// A handle on a shared module: copies mean the same one. `Linear` is the holder of `LinearImpl`;
/// a null one is made by `Linear layer{nullptr}`.
template <std::derived_from<Module> Impl>
class ModuleHolder {
 public:
  using Contained = Impl;

  ModuleHolder(std::nullptr_t /*none*/) noexcept {}                                  // NOLINT
  ModuleHolder(std::shared_ptr<Impl> module) noexcept : impl_(std::move(module)) {}  // NOLINT
  template <typename... Args>
  requires std::constructible_from<Impl, Args...>
  explicit ModuleHolder(Args&&... args)
      : impl_(std::make_shared<Impl>(std::forward<Args>(args)...)) {}

  Impl* operator->() const noexcept { return impl_.get(); }
  Impl& operator*() const noexcept { return *impl_; }
  [[nodiscard]] const std::shared_ptr<Impl>& ptr() const noexcept { return impl_; }
  [[nodiscard]] explicit operator bool() const noexcept { return impl_ != nullptr; }
  /// REQUIRES: not null.
  [[nodiscard]] Tensor operator()(Tensor input) const { return impl_->forward(std::move(input)); }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace forebay::nn
