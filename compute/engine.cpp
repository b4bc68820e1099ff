#include "compute/engine.hpp"

#include <algorithm>
#include <limits>

#include "compute/fold.hpp"
#include "compute/registry.hpp"
#include "compute/strides.hpp"
#include "forebay/runtime/log.hpp"

namespace forebay::compute {
namespace {

// Programs of one device, so that a process that makes new structures for ever has a bounded number
// of them. It bounds no compiled code: a device's kernel cache keeps each structure's CUDA kernels
// until the device closes.
constexpr std::size_t kMaxPrograms = 4096;

bool all_constant(std::span<const NodeRef> operands) {
  return std::all_of(operands.begin(), operands.end(),
                     [](const NodeRef& node) { return node->is(NodeKind::constant); });
}

bool less(const Dims& a, const Dims& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

Engine& Engine::of(Device& device) {
  device.require_open();
  return device.extension<Engine>(
      [](Device& d) { return std::make_shared<Engine>(d, make_backend(d)); });
}

Engine::Engine(Device& device, std::unique_ptr<Backend> backend)
    : device_(device),
      backend_(std::move(backend)),
      active_(backend_.get()),
      limits_(device.config().fusion, backend_->limits(), device.pool().config().capacity),
      programs_(kMaxPrograms, device.counters().fusion.programs),
      mailboxes_(backend_->mailboxes()) {}

NodeRef Engine::operation(Op op, DType type, const Dims& shape, std::span<NodeRef> operands) {
  const std::lock_guard lock(mutex_);
  device_.require_open();
  refuse_under_way();
  for (const NodeRef& operand : operands) settle(*operand);
  if (all_constant(operands)) {
    std::array<ConstantValue, 3> values;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      values[i] = {operands[i]->type, operands[i]->bits};
    }
    if (const auto bits = fold(op, std::span(values).first(operands.size()))) {
      return constant(shape, type, *bits);
    }
  }
  for (NodeRef& operand : operands) fit_shape(operand, shape);
  const Weight weight = fit_limits(operands);
  NodeRef node = Node::operation(op, type, shape, operands);
  pending_.add(*node);
  node->weight = weight;
  if (weight.pinned > limits_.most.pinned) {
    node->weight = exact_weight(node->inputs(), walk_);
    if (node->weight.pinned > limits_.most.pinned) {
      trace_end(kEndPinned, node->weight);
      evaluate(node, kEndPinned);
    }
  }
  return node;
}

// Constants have any shape. Other operands are computed in their own shape, then repeated by
// strides.
void Engine::fit_shape(NodeRef& operand, const Dims& shape) {
  if (operand->is(NodeKind::constant) || operand->shape == shape) return;
  evaluate(operand, kEndConsumer);
  operand = view(operand, shape, broadcast_strides(operand->shape, operand->strides, shape));
}

Weight Engine::fit_limits(std::span<const NodeRef> operands) {
  for (;;) {
    Weight weight = bound_weight(operands);
    if (exceeded(weight, limits_) == nullptr) return weight;
    weight = exact_weight(operands, walk_);
    const End* const end = exceeded(weight, limits_);
    if (end == nullptr) return weight;
    const NodeRef* heaviest = nullptr;
    for (const NodeRef& operand : operands) {
      if (!operand->is(NodeKind::operation)) continue;
      if (heaviest == nullptr ||
          operand->weight.*end->measure > (*heaviest)->weight.*end->measure) {
        heaviest = &operand;
      }
    }
    if (heaviest == nullptr) return weight;  // one operation always is a program
    trace_end(*end, weight);
    evaluate(*heaviest, *end);
  }
}

void Engine::trace_end(const End& end, const Weight& weight) const {
  if (!logs(LogLevel::trace)) return;
  log(LogLevel::trace,
      "an expression of " + device_.id() + " ends: " + numbers_of(end, weight, limits_));
}

NodeRef Engine::scalar(DType type, std::uint64_t bits) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t hash = (bits + static_cast<std::uint64_t>(type)) * 0x9E3779B97F4A7C15ULL;
  NodeRef& recent = scalars_[hash >> 60];
  if (!recent || !recent->is(NodeKind::constant) || recent->type != type || recent->bits != bits) {
    recent = Node::constant(device_, *this, Dims(), type, bits);
  }
  return recent;
}

NodeRef Engine::constant(const Dims& shape, DType type, std::uint64_t bits) {
  const std::lock_guard lock(mutex_);
  NodeRef node = Node::constant(device_, *this, shape, type, bits);
  pending_.add(*node);
  return node;
}

NodeRef Engine::uninitialized(const Dims& shape, DType type) {
  const std::lock_guard lock(mutex_);  // during another thread's capture, wait for its end
  return fresh(shape, type);
}

NodeRef Engine::fresh(const Dims& shape, DType type) {
  return Node::whole(device_, *this, shape, type, allocate(checked_numel(shape), type));
}

std::vector<NodeRef> Engine::upload(std::span<const HostArray> arrays, const Dims& shape,
                                    DType type) {
  const std::lock_guard lock(mutex_);
  refuse_in_capture("from_host", "make the tensor before, and assign new values to it");
  const std::int64_t numel = checked_numel(shape);
  const auto count = static_cast<std::size_t>(numel);
  const Stream& work = device_.default_stream();
  const Stream stream = backend().upload_stream(arrays.size() * count * size_of(type), work);
  std::vector<NodeRef> nodes;
  std::vector<Backend::Upload> uploads;
  nodes.reserve(arrays.size());
  uploads.reserve(arrays.size());
  // Also after an error: what was copied until then comes before the memory's next use.
  struct Join {
    Backend& backend;
    const Stream& work;
    const Stream& stream;
    ~Join() { backend.join(work, stream); }
  } const join{backend(), work, stream};
  for (const HostArray& array : arrays) {
    nodes.push_back(Node::whole(device_, *this, shape, type, allocate(numel, type, &stream)));
    if (numel != 0) {
      uploads.push_back({array.elements, array.type, nodes.back()->address(), type, count});
    }
  }
  if (!uploads.empty()) backend().upload_many(uploads, stream);
  return nodes;
}

std::shared_ptr<Storage> Engine::allocate(std::int64_t numel, DType type, const Stream* stream) {
  auto storage = std::make_shared<Storage>(device_.shared_from_this(),
                                           static_cast<std::size_t>(numel) * size_of(type), stream);
  storage->capture = capture_number();
  return storage;
}

void Engine::let_go(std::shared_ptr<void> owner) {
  const std::lock_guard lock(mutex_);
  if (log_ != nullptr) {
    left_.push_back(std::move(owner));
  } else {
    device_.default_stream().synchronize();
  }
}

void Engine::make_storage(Node& node, std::shared_ptr<Storage> storage) {
  pending_.remove(node);
  node.become_storage(std::move(storage));
}

// What is written to a constant from now on is seen by its views, and the other way round.
void Engine::settle(Node& node) {
  if (!node.is(NodeKind::constant) || !node.base() || !node.base()->is(NodeKind::storage)) return;
  pending_.remove(node);
  node.become_view();
}

void Engine::evaluate(const NodeRef& node, const End& end) {
  const std::lock_guard lock(mutex_);
  device_.require_open();
  settle(*node);
  if (node->is(NodeKind::constant) && node->numel != 0 && node->base()) {
    // Of what nobody else sees no more is stored than is in sight.
    if (node->base()->owners() == 1) {
      node->change_base(constant(node->shape_of_base(), node->type, node->bits));
    }
    evaluate(node->base(), end);
    settle(*node);
  }
  if (node->is(NodeKind::storage)) return;
  if (node->numel == 0) {
    make_storage(*node, allocate(0, node->type));
    return;
  }
  Node* const root = node.get();
  lower({.roots = {&root, 1}});
  launch(end);
}

void Engine::evaluate(std::span<const NodeRef> nodes, const End& end) {
  const std::lock_guard lock(mutex_);
  device_.require_open();
  refuse_under_way();
  std::vector<Node*> pending;
  bool sorted = true;
  const auto smaller = [](const Node* a, const Node* b) { return less(a->shape, b->shape); };
  for (const NodeRef& node : nodes) {
    if (node->is(NodeKind::constant) && node->base()) evaluate(node, end);
    if (node->is(NodeKind::storage)) continue;
    if (node->numel == 0) {
      evaluate(node, end);
      continue;
    }
    sorted = sorted && (pending.empty() || !smaller(node.get(), pending.back()));
    pending.push_back(node.get());
  }
  if (!sorted) std::stable_sort(pending.begin(), pending.end(), smaller);
  std::vector<Node*> roots;
  for (auto next = pending.begin(); next != pending.end();) {
    roots.clear();
    const Dims& shape = (*next)->shape;
    for (; next != pending.end() && (*next)->shape == shape && roots.size() < limits_.most.outputs;
         ++next) {
      if (!(*next)->is(NodeKind::storage)) roots.push_back(*next);
    }
    if (roots.size() > 1 && lowering_.run({.roots = roots}, limits_, walk_)) launch(end);
    // What did not fit into one program with the others.
    for (Node* const root : roots) {
      if (!root->is(NodeKind::storage)) evaluate(Node::share(*root), end);
    }
  }
}

NodeRef Engine::contiguous(const NodeRef& node, const End& end) {
  const std::lock_guard lock(mutex_);
  evaluate(node, end);
  return node->contiguous ? node : copy(node, end);
}

NodeRef Engine::copy(const NodeRef& node, const End& end) {
  const std::lock_guard lock(mutex_);
  NodeRef copy = fresh(node->shape, node->type);
  if (node->numel == 0) return copy;
  Node* const root = node.get();
  lower({.roots = {&root, 1}});
  launch(end, copy->address());
  return copy;
}

NodeRef Engine::view(const NodeRef& node, const Dims& shape, const Dims& strides,
                     std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  settle(*node);
  if (node->is(NodeKind::constant)) {
    NodeRef view = Node::view_of(node, shape, strides, offset);
    pending_.add(*view);
    return view;
  }
  return Node::view(device_, *this, shape, node->type, node->storage, strides,
                    node->offset + offset);
}

NodeRef Engine::reduce(ReduceOp op, const NodeRef& input, std::uint8_t reduced_dims,
                       const Dims& shape, std::uint32_t own_references) {
  const std::lock_guard lock(mutex_);
  device_.require_open();
  const DType type = rule_of(op, input->type).result;
  NodeRef result = fresh(shape, type);
  Node* const root = input.get();
  lower({.roots = {&root, 1},
         .reduce = op,
         .reduced_dims = reduced_dims,
         .own_references = own_references});
  Binding& binding = lowering_.binding;
  binding.reduction = result->address();
  // A graph's results come again with each replay, so they are read from the device.
  const bool fits_mailbox = result->numel == 1 && size_of(type) <= sizeof(std::uint32_t);
  binding.ticket = fits_mailbox && log_ == nullptr ? mailboxes_.issue() : 0;
  binding.mailbox = mailboxes_.box(binding.ticket);
  launch(kEndConsumer);
  result->storage->ticket = binding.ticket;
  return result;
}

std::uint64_t Engine::read(const NodeRef& node) {
  const std::lock_guard lock(mutex_);
  refuse_in_capture("item", "call it after a replay");
  device_.require_open();
  if (!node->is(NodeKind::storage)) evaluate(node, kEndRead);
  if (const auto bits = mailboxes_.collect(node->storage->ticket)) return *bits;
  std::uint64_t bits = 0;
  backend().download(node->address(), &bits, size_of(node->type), device_.default_stream());
  return bits;
}

// Evaluates parts of an expression that is beyond the limits, lowest first, until the rest fits.
// Each round that does not end it makes storage of at least one operation.
void Engine::split(Node* root) {
  walk_.run({&root, 1}, std::numeric_limits<std::size_t>::max());
  const std::vector<Node*> operations = walk_.operations();
  for (Node* const node : operations) node->weight = fit_limits(node->inputs());
}

void Engine::refuse_under_way() const {
  if (!under_way_) return;
  throw Error("a tensor of " + device_.id() +
              " is computed inside of a pressure callback, which other work of the device waits "
              "for; it may only let go of tensors");
}

void Engine::lower(const LowerRequest& request) {
  refuse_under_way();
  for (Node* const root : request.roots) settle(*root);
  while (!lowering_.run(request, limits_, walk_)) split(request.roots.front());
}

// Memory for a value of the lowered program: that of an input which nobody will read again, element
// by element, or else new.
std::shared_ptr<Storage> Engine::place(const Node& result) {
  const std::size_t bytes = static_cast<std::size_t>(result.numel) * size_of(result.type);
  if (lowering_.last_reader) {
    for (const Node* const leaf : walk_.leaves()) {
      // A leaf that was taken has a second owner. One without gaps that takes all bytes of its
      // storage begins where that does. What is another library's is not ours to write. What
      // replays read or write again is not taken by others, nor do they take what is there
      // only once.
      if (!leaf->contiguous || leaf->storage->bytes() != bytes || !leaf->held_only_by(leaf->uses) ||
          leaf->storage->foreign() || leaf->storage->capture != capture_number() ||
          lowering_.program.leaves[leaf->slot].access != Access::linear ||
          lowering_.program.leaves[leaf->slot].type != result.type) {
        continue;
      }
      count(device_.counters().fusion.reused);
      leaf->storage->ticket = 0;
      return leaf->storage;
    }
  }
  return allocate(result.numel, result.type);
}

// By the first executor that is ready.
void Engine::run(const Program& program, const Binding& binding) {
  const auto executors = backend().executors();
  const bool done = std::any_of(executors.begin(), executors.end(), [&](const auto& executor) {
    return executor->run(program, binding, device_.default_stream()) == Readiness::done;
  });
  if (!done) throw Error("no executor of " + device_.id() + " was ready for " + program.key());
  FusionCounters& counters = device_.counters().fusion;
  count(counters.launches);
  count(counters.operations, program.code.size());
}

// Runs the lowered program. Its first output goes to `first_output` if that is given, and its node
// stays as it is; every other stored node becomes storage.
void Engine::launch(const End& end, void* first_output) {
  const UnderWay under_way(*this);
  Binding& binding = lowering_.binding;
  binding.outputs.clear();
  // Also after an error.
  struct Clear {
    std::vector<std::shared_ptr<Storage>>& list;
    ~Clear() { list.clear(); }
  } const clear{results_};
  for (const Node* node : lowering_.stored) {
    const bool elsewhere = binding.outputs.empty() && first_output != nullptr;
    results_.push_back(elsewhere ? nullptr : place(*node));
    binding.outputs.push_back(elsewhere ? first_output : results_.back()->data());
  }
  const Program& program = programs_.get(lowering_.program);
  if (log_ != nullptr) [[unlikely]] {
    for (const Node* leaf : walk_.leaves()) keep(*leaf);
  }
  run(program, binding);
  if (!program.code.empty()) {
    count(device_.counters().fusion.ends.*end.counter);
    // Ends at limits were traced with what went beyond them.
    if (end.bound == nullptr) {
      trace_end(end, {.ops = static_cast<std::uint32_t>(program.code.size()),
                      .leaves = static_cast<std::uint32_t>(program.leaves.size()),
                      .scalars = static_cast<std::uint32_t>(binding.scalars.size())});
    }
  }
  if (lowering_.held > limits_.most.outputs) {
    count(device_.counters().fusion.ends.max_outputs);
    trace_end(kEndOutputs, {.outputs = lowering_.held});
  }
  // Deepest first: until a node drops its operands, it keeps those alive that come before it here.
  for (std::size_t i = results_.size(); i-- > 0;) {
    if (results_[i] != nullptr) make_storage(*lowering_.stored[i], std::move(results_[i]));
  }
}

}  // namespace forebay::compute
