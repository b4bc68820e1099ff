// Arrays of other libraries as tensors, and tensors as arrays of theirs.
#include "forebay/compute/dlpack.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "compute/dlpack_abi.hpp"
#include "forebay/compute/graph.hpp"
#include "forebay/compute/math.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

/// An array as another library makes it; counts how often it was given back.
template <typename Managed>
struct Foreign {
  Foreign(void* data, std::vector<std::int64_t> array_shape,
          std::vector<std::int64_t> array_strides)
      : shape(std::move(array_shape)), strides(std::move(array_strides)) {
    managed.dl_tensor = {data,
                         {kDlCpu, 0},
                         static_cast<std::int32_t>(shape.size()),
                         {kDlFloat, 32, 1},
                         shape.data(),
                         strides.empty() ? nullptr : strides.data(),
                         0};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) managed.version = {1, 0};
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  std::vector<std::int64_t> shape, strides;
  Managed managed{};
  int deleted = 0;
};
using Old = Foreign<DLManagedTensor>;
using Versioned = Foreign<DLManagedTensorVersioned>;

struct Delete {
  template <typename Managed>
  void operator()(Managed* managed) const {
    managed->deleter(managed);
  }
};

std::array<float, 12> count_up() {
  std::array<float, 12> data{};
  std::iota(data.begin(), data.end(), 0.0F);
  return data;
}

}  // namespace

TEST_CASE("an imported array is the other library's memory until the last tensor on it goes") {
  const Host host;
  auto data = count_up();
  Versioned array(data.data(), {3, 4}, {4, 1});
  {
    Tensor view;
    {
      const Tensor tensor = from_dlpack(&array.managed, host.device);
      CHECK(tensor.data() == data.data());
      CHECK(tensor.shape() == Dims{3, 4});
      data[5] = 50;
      CHECK(tensor.sum().item() == 66 - 5 + 50);
      assign(tensor, full({3, 4}, 2.0F, host.device));
      CHECK(data == std::array<float, 12>{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2});
      view = tensor.transpose();
    }
    CHECK(array.deleted == 0);
    data[1] = 7;
    CHECK(view.to_host<float>()[3] == 7);
  }
  CHECK(array.deleted == 1);
  CHECK(host.device.pool().stats().allocations.live == 0);
}

TEST_CASE("strides and offsets of an imported array are honoured") {
  const Host host;
  auto data = count_up();
  // Columns 1 and 3 of a 3 by 4 matrix, transposed, from an offset of one element.
  Old columns(data.data(), {2, 3}, {2, 4});
  columns.managed.dl_tensor.byte_offset = sizeof(float);
  CHECK(from_dlpack(&columns.managed, host.device).to_host<float>() ==
        std::vector<float>{1, 5, 9, 3, 7, 11});
  Old backwards(data.data() + 11, {3}, {-4});
  CHECK((from_dlpack(&backwards.managed, host.device) + 1.0F).to_host<float>() ==
        std::vector<float>{12, 8, 4});
  Old repeated(data.data() + 2, {2, 2}, {0, 1});
  CHECK(from_dlpack(&repeated.managed, host.device).to_host<float>() ==
        std::vector<float>{2, 3, 2, 3});
  Old single(data.data() + 6, {}, {});
  CHECK(from_dlpack(&single.managed, host.device).item() == 6);
  Old empty(nullptr, {0, 3}, {});
  CHECK(from_dlpack(&empty.managed, host.device).sum().item() == 0);
  Old nobodys(data.data(), {12}, {});
  nobodys.managed.deleter = nullptr;
  CHECK(from_dlpack(&nobodys.managed, host.device).sum().item() == 66);
  for (const Old* array : {&columns, &backwards, &repeated, &single, &empty}) {
    CHECK(array->deleted == 1);
  }
}

TEST_CASE("one array that is imported as two types is two inputs of an expression") {
  const Host host;
  std::array<float, 3> data{1, -2, 0.5F};
  Old as_f32(data.data(), {3}, {});
  Old as_i32(data.data(), {3}, {});
  as_i32.managed.dl_tensor.dtype = {kDlInt, 32, 1};
  const Tensor reals = from_dlpack(&as_f32.managed, host.device);
  const Tensor words = from_dlpack(&as_i32.managed, host.device);
  std::vector<double> sums;
  for (const float value : data) {
    sums.push_back(static_cast<double>(value) + std::bit_cast<std::int32_t>(value));
  }
  CHECK((reals.to(DType::f64) + words.to(DType::f64)).to_host<double>() == sums);
  CHECK(where(less(words, 0), reals, words.to(DType::f32)).to_host<float>() ==
        std::vector<float>{static_cast<float>(0x3f800000), -2, static_cast<float>(0x3f000000)});
}

TEST_CASE("an expression that consumes an imported array does not write over it") {
  const Host host;
  auto data = count_up();
  Versioned array(data.data(), {12}, {});
  const Tensor sum = (from_dlpack(&array.managed, host.device) + 1.0F).eval();
  CHECK(data == count_up());
  CHECK(sum.data() != data.data());
}

TEST_CASE("memory for reading only is read, and nothing else") {
  const Host host;
  auto data = count_up();
  Versioned array(data.data(), {12}, {});
  array.managed.flags = kDlReadOnly;
  const Tensor tensor = from_dlpack(&array.managed, host.device);
  CHECK(is_read_only(tensor));
  CHECK(is_read_only(tensor.reshape({3, 4})));
  CHECK_FALSE(is_read_only(tensor + 1.0F));
  CHECK(contains(message_of<ShapeError>([&] { assign(tensor, tensor + 1.0F); }), "reading only"));
  CHECK(data == count_up());
  // It stays so when it goes on to others.
  const std::unique_ptr<DLManagedTensorVersioned, Delete> out(to_dlpack(tensor));
  CHECK(out->flags == kDlReadOnly);
  CHECK_THROWS_AS(to_dlpack_unversioned(tensor), ShapeError);
}

TEST_CASE("what does not fit is an error that says why, and stays the caller's") {
  const Host host;
  auto data = count_up();
  const auto refused = [&](const std::function<void(DLManagedTensorVersioned&)>& change) {
    Versioned array(data.data(), {3, 4}, {4, 1});
    change(array.managed);
    std::string text =
        message_of<ShapeError>([&] { (void)from_dlpack(&array.managed, host.device); });
    CHECK(array.deleted == 0);
    return text;
  };
  CHECK(contains(refused([](auto& a) {
                   a.dl_tensor.device = {kDlCuda, 1};
                 }),
                 "memory of cuda:1, not on host"));
  CHECK(contains(refused([](auto& a) { a.dl_tensor.device = {10, 0}; }), "device type 10"));
  CHECK(contains(refused([](auto& a) {
                   a.dl_tensor.dtype = {5, 64, 1};
                 }),
                 "complex of 64 bits; tensors have f64, f32, f16, bf16, i64, i32, u8, bool"));
  CHECK(contains(refused([](auto& a) { a.dl_tensor.dtype.lanes = 4; }), "in 4 lanes"));
  CHECK(contains(refused([](auto& a) { a.dl_tensor.dtype = {99, 8, 1}; }), "type code 99"));
  CHECK(contains(refused([](auto& a) { a.dl_tensor.ndim = 9; }), "9 dimensions"));
  CHECK(contains(refused([](auto& a) { a.dl_tensor.ndim = -1; }), "-1 dimensions"));
  CHECK(contains(refused([](auto& a) { a.dl_tensor.shape[0] = -3; }), "-3"));
  CHECK(contains(refused([](auto& a) { a.dl_tensor.byte_offset = 2; }), "no multiple"));
  CHECK(contains(refused([](auto& a) { a.version = {2, 0}; }), "version 2.0"));
  // Pinned memory is the host's too.
  Versioned pinned(data.data(), {12}, {});
  pinned.managed.dl_tensor.device = {kDlCudaHost, 0};
  CHECK(from_dlpack(&pinned.managed, host.device).sum().item() == 66);
}

TEST_CASE("an exported tensor is where it was, with its strides, until it is given back") {
  const Host host;
  std::unique_ptr<DLManagedTensorVersioned, Delete> turned;
  std::unique_ptr<DLManagedTensor, Delete> whole;
  {
    const Tensor tensor = counting(host, {2, 3});
    turned.reset(to_dlpack(tensor.transpose()));
    whole.reset(to_dlpack_unversioned(tensor));
    CHECK(whole->dl_tensor.data == tensor.data());
  }
  CHECK(turned->version.major == 1);
  CHECK(turned->flags == 0);
  const DLTensor& array = turned->dl_tensor;
  CHECK(array.device.device_type == kDlCpu);
  CHECK(array.ndim == 2);
  CHECK(array.shape[0] == 3);
  CHECK(array.shape[1] == 2);
  CHECK(array.strides[0] == 1);
  CHECK(array.strides[1] == 3);
  CHECK(array.byte_offset == 0);
  CHECK((array.dtype.code == kDlFloat && array.dtype.bits == 32 && array.dtype.lanes == 1));
  auto* const elements = static_cast<float*>(array.data);
  CHECK(elements == whole->dl_tensor.data);
  for (int i = 0; i < 6; ++i) CHECK(elements[i] == static_cast<float>(i));
  CHECK(host.device.pool().stats().allocations.live == 1);
  turned.reset();
  CHECK(host.device.pool().stats().allocations.live == 1);
  whole.reset();
  CHECK(host.device.pool().stats().allocations.live == 0);
}

TEST_CASE("there and back again it is the same memory") {
  const Host host;
  const Tensor integers = host.i32({1, 2, 3, 4}, {2, 2});
  Tensor back = from_dlpack(to_dlpack(integers.transpose()), host.device);
  CHECK(back.dtype() == DType::i32);
  CHECK(back.to_host<std::int32_t>() == std::vector<std::int32_t>{1, 3, 2, 4});
  assign(integers, integers * 10);
  CHECK(back.to_host<std::int32_t>() == std::vector<std::int32_t>{10, 30, 20, 40});
  // Expressions are evaluated, and constants too.
  CHECK(from_dlpack(to_dlpack(integers + 1), host.device).to_host<std::int32_t>() ==
        std::vector<std::int32_t>{11, 21, 31, 41});
  CHECK(from_dlpack(to_dlpack_unversioned(full({2}, 3.0F, host.device)), host.device)
            .to_host<float>() == std::vector<float>{3, 3});
  const Tensor total = integers.sum();
  CHECK(total.item<std::int32_t>() == 100);
  std::unique_ptr<DLManagedTensorVersioned, Delete> out(to_dlpack(total));
  *static_cast<std::int32_t*>(out->dl_tensor.data) = 5;  // the other library writes
  CHECK(total.item<std::int32_t>() == 5);
  out.reset();
  back = {};
}

TEST_CASE("arrays that point nowhere, or reach too far, are refused") {
  const Host host;
  float data[4] = {1, 2, 3, 4};
  const auto said = [&](auto* array) {
    return message_of<ShapeError>([&] { (void)from_dlpack(array, host.device); });
  };
  CHECK(contains(said(static_cast<DLManagedTensor*>(nullptr)), "null pointer"));
  CHECK(contains(said(static_cast<DLManagedTensorVersioned*>(nullptr)), "null pointer"));
  Versioned nowhere(nullptr, {2}, {1});
  CHECK(contains(said(&nowhere.managed), "its data is a null pointer"));
  nowhere.managed.dl_tensor.shape = nullptr;
  CHECK(said(&nowhere.managed) ==
        "from_dlpack: the array has 1 dimensions, but its shape is a null pointer");
  for (const std::int64_t stride : {INT64_MAX, INT64_MAX / 4, INT64_MIN}) {
    Versioned far(data, {2, 2}, {stride, 1});
    CHECK(contains(said(&far.managed), "beyond 2^63 bytes"));
  }
}

TEMPLATE_TEST_CASE("elements of every type go there and back", "", double, float, half, bfloat16,
                   std::int64_t, std::int32_t, std::uint8_t, bool) {
  const Host host;
  constexpr DType kType = dtype_of<TestType>;
  const Tensor ones = full({3}, 1, host.device, kType);
  const std::unique_ptr<DLManagedTensorVersioned, Delete> out(to_dlpack(ones));
  const DLDataType type = out->dl_tensor.dtype;
  CHECK(type.code == (kType == DType::bf16                   ? kDlBfloat
                      : kType == DType::boolean              ? kDlBool
                      : category_of(kType) == Category::real ? kDlFloat
                      : kType == DType::u8                   ? kDlUInt
                                                             : kDlInt));
  CHECK(type.bits == 8 * sizeof(TestType));
  CHECK(type.lanes == 1);
  TestType data[6] = {TestType(0), TestType(1), TestType(0), TestType(0), TestType(1), TestType(1)};
  Versioned array(data + 1, {2}, {3});
  array.managed.dl_tensor.dtype = type;
  const Tensor back = from_dlpack(&array.managed, host.device);
  CHECK(back.dtype() == kType);
  CHECK(back.to(DType::f64).to_host<double>() == std::vector<double>{1, 1});
  CHECK(back.sum().to(DType::f64).item<double>() == 2);
}

TEST_CASE("a part of a tensor is exported from where it begins") {
  const Host host;
  const Tensor whole = counting(host, {3, 4});
  const Tensor part = narrow(whole, 1, 1, 2);
  const std::unique_ptr<DLManagedTensorVersioned, Delete> out(to_dlpack(part));
  const DLTensor& array = out->dl_tensor;
  CHECK(array.byte_offset == 0);
  CHECK(array.data == static_cast<float*>(whole.data()) + 1);
  CHECK(array.strides[0] == 4);
  CHECK(array.strides[1] == 1);
  // And as a view of the imported one.
  const Tensor back = from_dlpack(to_dlpack(part), host.device);
  CHECK(narrow(back, 0, 1, 2).to_host<float>() == std::vector<float>{5, 6, 9, 10});
  assign(narrow(narrow(whole, 0, 2, 1), 1, 0, 2), full({1, 2}, -1.0F, host.device));
  CHECK(back.to_host<float>() == std::vector<float>{1, 2, 5, 6, -1, 10});
}

TEST_CASE("a graph keeps another library's array, and one dropped inside of a capture") {
  const Host host;
  auto data = count_up();
  auto other_data = count_up();
  Versioned array(data.data(), {12}, {});
  Versioned dropped(other_data.data(), {12}, {});
  Tensor out;
  {
    Tensor tensor = from_dlpack(&array.managed, host.device);
    Tensor unused = from_dlpack(&dropped.managed, host.device);
    Graph graph = capture(host.device, [&] {
      out = (tensor * 2.0F).eval();
      tensor = {};
      unused = {};
      CHECK(dropped.deleted == 0);
      CHECK_THROWS_AS(from_dlpack(&dropped.managed, host.device), CaptureError);
    });
    CHECK(dropped.deleted == 1);
    CHECK(array.deleted == 0);
    data[0] = 100;
    graph.replay();
    CHECK(out.to_host<float>()[0] == 200);
    graph = {};
    CHECK(array.deleted == 1);
  }
}

TEST_CASE("an array is given back when its runtime closes, or later") {
  auto data = count_up();
  Versioned array(data.data(), {12}, {});
  Host host;
  Tensor tensor = from_dlpack(&array.managed, host.device);
  host.runtime.close();
  CHECK_THROWS_AS(tensor.sum(), ClosedError);
  CHECK(array.deleted == 0);
  tensor = {};
  CHECK(array.deleted == 1);
  CHECK_THROWS_AS(from_dlpack(&array.managed, host.device), ClosedError);
}

TEST_CASE("of another library's booleans any byte but 0 is true") {
  const Host host;
  // Enough of them for whole vectors, and every other one for a view with gaps.
  constexpr std::int64_t kCount = 400;
  std::vector<std::uint8_t> bytes;
  std::vector<bool> truth;
  for (std::int64_t i = 0; i < 2 * kCount; ++i) {
    constexpr std::uint8_t kBytes[] = {0, 1, 2, 255, 0, 128, 254};
    bytes.push_back(kBytes[i % 7]);
  }
  for (const std::int64_t step : {1, 2}) {
    truth.clear();
    for (std::int64_t i = 0; i < kCount; ++i) {
      truth.push_back(bytes[static_cast<std::size_t>(i * step)] != 0);
    }
    Versioned array(bytes.data(), {kCount}, {step});
    array.managed.dl_tensor.dtype = {kDlBool, 8, 1};
    const Tensor flags = from_dlpack(&array.managed, host.device);
    const Tensor known =
        greater(from_host<std::int32_t>(std::vector<std::int32_t>(truth.begin(), truth.end()),
                                        {kCount}, host.device),
                0);
    const Tensor x = counting(host, {kCount});
    CHECK(flags.to_host<bool>() == truth);
    CHECK(where(flags, x, -x).to_host<float>() == where(known, x, -x).to_host<float>());
    CHECK(where(known, flags, ~flags).to_host<bool>() ==
          where(known, known, ~known).to_host<bool>());
    CHECK((flags & flip(flags, 0)).to_host<bool>() == (known & flip(known, 0)).to_host<bool>());
    CHECK((flags | flip(flags, 0)).to_host<bool>() == (known | flip(known, 0)).to_host<bool>());
    CHECK((flags ^ flip(flags, 0)).to_host<bool>() == (known ^ flip(known, 0)).to_host<bool>());
    CHECK((~flags).to_host<bool>() == (~known).to_host<bool>());
    CHECK(logical_not(flags).to_host<bool>() == logical_not(known).to_host<bool>());
    CHECK(equal(flags, known).all().item<bool>());
    CHECK(equal(flags, true).to_host<bool>() == truth);
    CHECK_FALSE(less(flags, known).any().item<bool>());
    CHECK(minimum(flags, known).to_host<bool>() == truth);
    for (const DType type :
         {DType::f64, DType::f32, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
      CHECK(equal(flags.to(type), known.to(type)).all().item<bool>());
    }
    CHECK(flags.to(DType::u8).to_host<std::uint8_t>() ==
          known.to(DType::u8).to_host<std::uint8_t>());
    CHECK((flags + 1).to_host<std::int64_t>() == (known + 1).to_host<std::int64_t>());
    CHECK(flags.sum().item<std::int64_t>() == std::count(truth.begin(), truth.end(), true));
    CHECK(flags.prod().item<std::int64_t>() == 0);
    CHECK(flags.any().item<bool>());
    CHECK_FALSE(flags.all().item<bool>());
    CHECK(flags.argmax().item<std::int64_t>() == known.argmax().item<std::int64_t>());
    CHECK(narrow(flags, 0, 1, 3).all().item<bool>() == narrow(known, 0, 1, 3).all().item<bool>());
    const Tensor one = narrow(flags, 0, 3, 1).reshape({});
    CHECK(one.item<std::int64_t>() == (truth[3] ? 1 : 0));
    CHECK(where(one, x, -x).to_host<float>() == (truth[3] ? x : -x).to_host<float>());
    // What is copied as it is.
    CHECK(flags.transpose(0, 0).to_host<bool>() == truth);
    CHECK(cat(std::vector<Tensor>{flags, flags}).sum().item<std::int64_t>() ==
          2 * std::count(truth.begin(), truth.end(), true));
    Tensor target = zeros({kCount}, host.device, DType::boolean);
    assign(target, flags);
    CHECK(target.to(DType::i32).to_host<std::int32_t>() ==
          known.to(DType::i32).to_host<std::int32_t>());
  }
}
