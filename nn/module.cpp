#include "forebay/nn/module.hpp"

#include <algorithm>
#include <unordered_set>

namespace forebay::nn {

Tensor Module::forward(Tensor /*input*/) {
  throw Error("this module has no forward of one tensor");
}

void Module::require_free(const std::string& name) const {
  if (name.empty() || name.find('.') != std::string::npos) {
    throw Error("module: the name '" + name + "' is empty or contains a dot");
  }
  const auto has_name = [&](const auto& entry) { return entry.first == name; };
  if (std::any_of(parameters_.begin(), parameters_.end(), has_name) ||
      std::any_of(modules_.begin(), modules_.end(), has_name)) {
    throw Error("module: the name '" + name + "' is taken");
  }
}

Tensor Module::register_parameter(std::string name, const Tensor& value) {
  require_free(name);
  return parameters_.emplace_back(std::move(name), requires_grad(value)).second;
}

void Module::add_module(std::string name, std::shared_ptr<Module> module) {
  require_free(name);
  if (!module) throw Error("module: '" + name + "' is null");
  if (module->contains(*this)) {
    throw Error("module: '" + name + "' contains the module that it would stand in");
  }
  modules_.emplace_back(std::move(name), std::move(module));
}

bool Module::contains(const Module& other) const {
  return this == &other || std::any_of(modules_.begin(), modules_.end(), [&](const auto& entry) {
           return entry.second->contains(other);
         });
}

void Module::collect(const std::string& prefix,
                     std::vector<std::pair<std::string, Tensor>>& found) const {
  for (const auto& [name, parameter] : parameters_) found.emplace_back(prefix + name, parameter);
  for (const auto& [name, module] : modules_) module->collect(prefix + name + ".", found);
}

std::vector<std::pair<std::string, Tensor>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Tensor>> found;
  collect("", found);
  // A module that stands in two places shares its leaves.
  std::unordered_set<const compute::AutogradHook*> seen;
  std::erase_if(
      found, [&](const auto& entry) { return !seen.insert(entry.second.autograd().get()).second; });
  return found;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> parameters;
  for (auto& [name, parameter] : named_parameters()) parameters.push_back(std::move(parameter));
  return parameters;
}

void Module::zero_grad() {
  for (const auto& [name, parameter] : parameters_) nn::zero_grad(parameter);
  for (const auto& [name, module] : modules_) module->zero_grad();
}

}  // namespace forebay::nn
