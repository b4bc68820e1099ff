#include "pool/trace/unpickle.hpp"

#include <cstring>

#include "pool/trace/builder.hpp"

namespace forebay::pool {
namespace {

/// What may stand in a pickle that is not data.
const char* name_of_refused(unsigned char code) {
  switch (code) {
    case 'c':
      return "GLOBAL";
    case 0x93:
      return "STACK_GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 0x81:
      return "NEWOBJ";
    case 0x92:
      return "NEWOBJ_EX";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    default:
      return nullptr;
  }
}

constexpr std::uint32_t kMark = ~std::uint32_t{0};

}  // namespace

class Pickle::Machine {
 public:
  Machine(Pickle& pickle, std::string_view content, std::string_view name, std::size_t max_bytes)
      : pickle_(pickle), content_(content), name_(name), budget_(max_bytes) {}

  void run() {
    while (step()) {
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_trace(name_, "byte " + std::to_string(opcode_at_) + " of the pickle: " + what);
  }

  // Input ----------------------------------------------------------------------------------------

  std::string_view take(std::uint64_t bytes) {
    if (bytes > content_.size() - at_) fail("the pickle ends too early; the file was cut off");
    const std::string_view taken = content_.substr(at_, bytes);
    at_ += bytes;
    return taken;
  }
  std::uint64_t number(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(taken[i]);
    }
    return value;
  }

  // Memory ---------------------------------------------------------------------------------------

  void charge(std::size_t bytes) {
    if (bytes > budget_) fail("its values need too much memory for a snapshot");
    budget_ -= bytes;
  }
  void push(Value value) {
    charge(sizeof(Value));
    stack_.push_back(value);
  }
  Node& make(Kind kind) {
    // A growing vector has up to twice as much as it holds, and more while it moves.
    charge(3 * sizeof(Node));
    push(static_cast<Value>(pickle_.nodes_.size()));
    Node& node = pickle_.nodes_.emplace_back();
    node.kind = kind;
    return node;
  }
  void make_integer(std::int64_t value) { make(Kind::integer).integer = value; }
  void make_text(Kind kind, std::size_t length_bytes) {
    const std::string_view text = take(number(length_bytes));
    Node& node = make(kind);
    node.text = text.data();
    node.length = text.size();
  }
  /// LONG1 and LONG4: little-endian, two's complement.
  void make_long(std::size_t length_bytes) {
    const std::string_view digits = take(number(length_bytes));
    if (digits.size() > 8) {
      make(Kind::big);
      return;
    }
    std::uint64_t value = 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(digits[i]);
    }
    if (!digits.empty() && digits.size() < 8 && (digits.back() & 0x80) != 0) {
      value |= ~std::uint64_t{0} << (8 * digits.size());
    }
    make_integer(static_cast<std::int64_t>(value));
  }
  std::vector<Value>& make_container(Kind kind) {
    charge(3 * sizeof(std::vector<Value>));
    make(kind).children = static_cast<std::uint32_t>(pickle_.children_.size());
    return pickle_.children_.emplace_back();
  }

  // Stack ----------------------------------------------------------------------------------------

  Value pop() {
    if (stack_.empty() || stack_.back() == kMark) fail("an opcode finds nothing on the stack");
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value top() {
    const Value value = pop();
    stack_.push_back(value);
    return value;
  }
  /// Everything above the last mark, which goes too.
  std::vector<Value> pop_mark() {
    std::size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1] != kMark) --mark;
    if (mark == 0) fail("an opcode finds no mark on the stack");
    std::vector<Value> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark - 1);
    return values;
  }
  void extend(Value container, Kind kind, const std::vector<Value>& values) {
    const Node& node = pickle_.nodes_[container];
    if (node.kind != kind) fail("an opcode adds to what is no container of its kind");
    if (kind == Kind::dict && values.size() % 2 != 0) fail("a dictionary gets a key without value");
    charge(3 * sizeof(Value) * values.size());
    std::vector<Value>& children = pickle_.children_[node.children];
    children.insert(children.end(), values.begin(), values.end());
  }
  void make_of(Kind kind, std::vector<Value> values) {
    make_container(kind);
    extend(stack_.back(), kind, values);
  }
  void make_tuple(std::size_t count) {
    std::vector<Value> values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    make_of(Kind::list, std::move(values));
  }
  void put(std::uint64_t slot) {
    const Value value = top();
    // Every slot is filled by an opcode of its own, so a number beyond their count is a lie.
    if (slot > content_.size()) fail("a value is remembered under a number that is too large");
    if (slot >= memo_.size()) {
      charge(2 * sizeof(Value) * (slot + 1 - memo_.size()));
      memo_.resize(slot + 1, kMark);
    }
    memo_[slot] = value;
  }
  void get(std::uint64_t slot) {
    if (slot >= memo_.size() || memo_[slot] == kMark) {
      fail("it refers to a value that it never remembered");
    }
    push(memo_[slot]);
  }

  bool step();

  Pickle& pickle_;
  const std::string_view content_;
  const std::string_view name_;
  std::size_t budget_;
  std::size_t at_ = 0, opcode_at_ = 0;
  std::vector<Value> stack_;
  std::vector<Value> memo_;
  bool has_protocol_ = false;
};

/// One opcode; false at the end.
bool Pickle::Machine::step() {
  opcode_at_ = at_;
  const auto code = static_cast<unsigned char>(take(1).front());
  if (!has_protocol_ && code != 0x80) fail("a pickle of protocol 2 to 5 begins with its protocol");
  switch (code) {
    case 0x80: {  // PROTO
      const std::uint64_t protocol = number(1);
      if (protocol < 2 || protocol > 5) {
        fail("protocol " + std::to_string(protocol) + "; 2 to 5 are allowed");
      }
      has_protocol_ = true;
      return true;
    }
    case 0x95:  // FRAME
      take(8);
      return true;
    case '(':  // MARK
      push(kMark);
      return true;
    case '.':  // STOP
      pickle_.root_ = pop();
      return false;
    case '0':  // POP
      if (stack_.empty()) fail("an opcode finds nothing on the stack");
      stack_.pop_back();
      return true;
    case '1':  // POP_MARK
      pop_mark();
      return true;
    case '2':  // DUP
      push(top());
      return true;
    case 'N':  // NONE
      make(Kind::none);
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      make(Kind::boolean).integer = code == 0x88 ? 1 : 0;
      return true;
    case 'J':  // BININT
      make_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4))));
      return true;
    case 'K':  // BININT1
      make_integer(static_cast<std::int64_t>(number(1)));
      return true;
    case 'M':  // BININT2
      make_integer(static_cast<std::int64_t>(number(2)));
      return true;
    case 0x8A:  // LONG1
      make_long(1);
      return true;
    case 0x8B:  // LONG4
      make_long(4);
      return true;
    case 'G':  // BINFLOAT
      take(8);
      make(Kind::real);
      return true;
    case 0x8C:  // SHORT_BINUNICODE
      make_text(Kind::text, 1);
      return true;
    case 'X':  // BINUNICODE
      make_text(Kind::text, 4);
      return true;
    case 0x8D:  // BINUNICODE8
      make_text(Kind::text, 8);
      return true;
    case 'U':  // SHORT_BINSTRING
    case 'C':  // SHORT_BINBYTES
      make_text(Kind::bytes, 1);
      return true;
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
      make_text(Kind::bytes, 4);
      return true;
    case 0x8E:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      make_text(Kind::bytes, 8);
      return true;
    case ']':   // EMPTY_LIST
    case ')':   // EMPTY_TUPLE
    case 0x8F:  // EMPTY_SET
      make_container(Kind::list);
      return true;
    case '}':  // EMPTY_DICT
      make_container(Kind::dict);
      return true;
    case 'l':   // LIST
    case 't':   // TUPLE
    case 0x91:  // FROZENSET
      make_of(Kind::list, pop_mark());
      return true;
    case 'd':  // DICT
      make_of(Kind::dict, pop_mark());
      return true;
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      make_tuple(code - 0x84U);
      return true;
    case 'a': {  // APPEND
      const Value value = pop();
      extend(top(), Kind::list, {value});
      return true;
    }
    case 'e':     // APPENDS
    case 0x90: {  // ADDITEMS
      const std::vector<Value> values = pop_mark();
      extend(top(), Kind::list, values);
      return true;
    }
    case 's': {  // SETITEM
      const Value value = pop();
      const Value key = pop();
      extend(top(), Kind::dict, {key, value});
      return true;
    }
    case 'u': {  // SETITEMS
      const std::vector<Value> values = pop_mark();
      extend(top(), Kind::dict, values);
      return true;
    }
    case 0x94:  // MEMOIZE
      put(memo_.size());
      return true;
    case 'q':  // BINPUT
      put(number(1));
      return true;
    case 'r':  // LONG_BINPUT
      put(number(4));
      return true;
    case 'h':  // BINGET
      get(number(1));
      return true;
    case 'j':  // LONG_BINGET
      get(number(4));
      return true;
    default:
      if (const char* refused = name_of_refused(code)) {
        fail(std::string("opcode ") + refused +
             " would run code or load a class; a snapshot holds plain data only, and nothing else "
             "is allowed");
      }
      fail("opcode " + std::to_string(code) + " is not one of those that plain data needs");
  }
}

Pickle::Pickle(std::string_view content, std::string_view name, std::size_t max_bytes) {
  Machine(*this, content, name, max_bytes).run();
}

const std::vector<Pickle::Value>& Pickle::items(Value value) const noexcept {
  static const std::vector<Value> nothing;
  const Node& node = nodes_[value];
  return node.kind == Kind::list ? children_[node.children] : nothing;
}

std::optional<Pickle::Value> Pickle::find(Value value, std::string_view key) const noexcept {
  const Node& node = nodes_[value];
  if (node.kind != Kind::dict) return std::nullopt;
  const std::vector<Value>& children = children_[node.children];
  for (std::size_t i = children.size(); i >= 2; i -= 2) {
    if (text(children[i - 2]) == key) return children[i - 1];
  }
  return std::nullopt;
}

std::optional<std::int64_t> Pickle::integer(Value value) const noexcept {
  const Node& node = nodes_[value];
  return node.kind == Kind::integer ? std::optional(node.integer) : std::nullopt;
}

std::optional<std::string_view> Pickle::text(Value value) const noexcept {
  const Node& node = nodes_[value];
  return node.kind == Kind::text ? std::optional(std::string_view(node.text, node.length))
                                 : std::nullopt;
}

}  // namespace forebay::pool
