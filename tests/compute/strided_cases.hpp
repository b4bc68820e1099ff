// Writes through views with strides, on any device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "forebay/compute/graph.hpp"
#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/all_types.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// A view of a tensor of `shape`, with strides of its own.
struct StridedView {
  const char* name;
  Dims shape;
  std::function<Tensor(const Tensor&)> of;
};

inline const std::vector<StridedView>& strided_views() {
  using T = const Tensor&;
  static const std::vector<StridedView> kViews{
      {"inner part", {3, 5}, [](T t) { return narrow(t, 1, 1, 3); }},
      {"column", {7, 3}, [](T t) { return narrow(t, 1, 2, 1); }},
      {"transposed", {3, 4}, [](T t) { return t.transpose(); }},
      {"every third", {11}, [](T t) { return slice(t, 0, 1, INT64_MAX, 3); }},
      {"backwards", {6}, [](T t) { return flip(t, 0); }},
      {"every second backwards", {4, 9}, [](T t) { return slice(t, 1, -1, kSliceEnd, -2); }},
      {"a view of a view of a view",
       {4, 6, 5},
       [](T t) { return flip(narrow(slice(t, 1, 0, 6, 2).transpose(0, 2), 0, 1, 3), 1); }},
      {"eight dimensions",
       {2, 3, 2, 2, 3, 2, 2, 2},
       [](T t) { return flip(narrow(t.transpose(0, 4).transpose(1, 7), 0, 1, 2), 4); }},
      {"eight dimensions that do not merge",
       {3, 3, 3, 3, 3, 3, 3, 3},
       [](Tensor t) {
         for (int axis = 0; axis < 8; ++axis) t = slice(t, axis, 0, 3, 2);
         return t.transpose(0, 7).transpose(2, 5);
       }},
      {"several blocks", {70, 130}, [](T t) { return slice(t, 0, 1, 69, 2).transpose(); }},
  };
  return kViews;
}

inline Tensor on_device(Device& device, const std::vector<float>& values) {
  return from_host<float>(values, {static_cast<std::int64_t>(values.size())}, device);
}

inline std::vector<double> doubles_of(const Tensor& t) {
  return t.to(DType::f64).to_host<double>();
}

/// Every kind of write through every view, in every type: the elements of the view change, for
/// everybody who sees them, and no others do.
inline void check_strided_writes(Device& device) {
  for (const StridedView& view : strided_views()) {
    const auto count = static_cast<std::size_t>(checked_numel(view.shape));
    std::vector<std::int64_t> positions(count);
    std::iota(positions.begin(), positions.end(), 0);
    const std::vector<std::int64_t> places =
        view.of(from_host<std::int64_t>(positions, view.shape, device)).to_host<std::int64_t>();
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i % 23);
    for (const DType type : kAllTypes) {
      INFO(view.name << " of " << to_string(type) << " on " << device.id());
      const auto as = [&](double value) {
        return type == DType::boolean ? static_cast<double>(value != 0) : value;
      };
      const Tensor whole = from_host<double>(values, view.shape, device, type);
      const Tensor flat = whole.reshape({-1});
      const Tensor part = view.of(whole);
      const Tensor again = view.of(whole);
      std::vector<double> expected(count);
      for (std::size_t i = 0; i < count; ++i) expected[i] = as(values[i]);
      std::vector<double> news(places.size());
      for (std::size_t i = 0; i < news.size(); ++i) news[i] = static_cast<double>(i % 7);
      const auto holds = [&](const char* what, const auto& element) {
        for (std::size_t i = 0; i < places.size(); ++i) {
          double& place = expected[static_cast<std::size_t>(places[i])];
          place = as(element(place, news[i]));
        }
        INFO(what);
        CHECK(doubles_of(flat) == expected);
        CHECK(doubles_of(again) == doubles_of(part));
      };
      const Tensor update = from_host<double>(news, part.shape(), device, type);
      add_(part, update);
      holds("add_", [&](double old, double given) { return old + as(given); });
      copy_(part, from_host<double>(news, part.shape(), device, DType::f32));
      holds("copy_ of another type", [](double, double given) { return given; });
      fill_(part, 3);
      holds("fill_", [](double, double) { return 3; });
      assign(part, update);
      holds("assign of storage", [](double, double given) { return given; });
      if (type != DType::boolean) {
        clamp_(part, 2, 4);
        holds("clamp_", [](double old, double) { return std::min(std::max(old, 2.0), 4.0); });
      }
      masked_fill_(part, equal(part, part), 1);
      holds("masked_fill_", [](double, double) { return 1; });
      copy_(part, from_host<double>(std::vector<double>{5}, {1}, device));
      holds("copy_ of one element", [](double, double) { return 5; });
    }
  }
}

/// What is written is what was there before the write, also where source and target overlap.
inline void check_overlapping_writes(Device& device) {
  const std::vector<double> values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto square = [&] { return from_host<double>(values, {4, 4}, device); };
  using Doubles = std::vector<double>;
  Tensor x = square();
  copy_(narrow(x, 1, 1, 3), narrow(x, 1, 0, 3));
  CHECK(x.to_host<double>() == Doubles{0, 0, 1, 2, 4, 4, 5, 6, 8, 8, 9, 10, 12, 12, 13, 14});
  x = square();
  copy_(narrow(x, 1, 0, 3), narrow(x, 1, 1, 3));
  CHECK(x.to_host<double>() == Doubles{1, 2, 3, 3, 5, 6, 7, 7, 9, 10, 11, 11, 13, 14, 15, 15});
  x = square();
  assign(x.transpose(), x);
  CHECK(x.to_host<double>() == Doubles{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15});
  x = square();
  assign(flip(x, 1), x);
  CHECK(narrow(x, 0, 0, 1).to_host<double>() == Doubles{3, 2, 1, 0});
  x = square();
  assign(flip(x, 1), flip(x, 1));
  CHECK(x.to_host<double>() == values);
  x = square();
  add_(x.transpose(), x);
  CHECK(x.to_host<double>() ==
        Doubles{0, 5, 10, 15, 5, 10, 15, 20, 10, 15, 20, 25, 15, 20, 25, 30});
  // A part without gaps, too.
  x = square().reshape({16});
  copy_(narrow(x, 0, 1, 15), narrow(x, 0, 0, 15));
  CHECK(x.to_host<double>() == Doubles{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  // A value of which somebody holds a part.
  x = square();
  const Tensor part = narrow(x, 1, 1, 2);
  const Tensor held = part + 1;
  assign(part, held * part);
  CHECK(held.to_host<double>() == Doubles{2, 3, 6, 7, 10, 11, 14, 15});
  CHECK(part.to_host<double>() == Doubles{2, 6, 30, 42, 90, 110, 182, 210});
  CHECK(narrow(x, 1, 3, 1).to_host<double>() == Doubles{3, 7, 11, 15});
  // A number that was read before.
  const Tensor total = x.sum(std::vector<int>{}, true);
  const double before = total.item<double>();
  fill_(slice(total, 1, 0, 1, -1), 0);  // of nothing
  CHECK(total.item<double>() == before);
}

/// Views of which elements are one in memory are no targets; nothing has been written then.
inline void check_refused_writes(Device& device) {
  const Tensor row = from_host<float>(std::vector<float>{1, 2, 3}, {3}, device);
  const auto message = [](const std::function<void()>& write) {
    try {
      write();
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message([&] {
          fill_(row.broadcast_to({2, 3}), 7);
        }) == "fill_: elements of the target f32 [2, 3] on " + device.id() +
                  " may share memory, as it is a view with strides [0, 1]");
  CHECK(message([&] {
          add_(row.broadcast_to({2, 3}).transpose(), 1);
        }).find("strides [1, 0]") != std::string::npos);
  CHECK(message([&] {
          assign(narrow(row.broadcast_to({2, 3}), 1, 0, 2), zeros({2, 2}, device));
        }).find("strides [0, 1]") != std::string::npos);
  CHECK(row.to_host<float>() == std::vector<float>{1, 2, 3});
  // One repetition is none.
  fill_(narrow(row.broadcast_to({2, 3}), 0, 1, 1), 7);
  CHECK(row.to_host<float>() == std::vector<float>{7, 7, 7});
  // Of no elements there is nothing to write.
  const std::uint64_t launches = device.counters().fusion.launches;
  const Tensor wide = empty({2, 3}, device);
  fill_(narrow(wide, 1, 1, 0), 1);
  fill_(slice(wide, 1, 2, 0, 2), 1);
  fill_(narrow(row.broadcast_to({2, 3}), 0, 0, 0), 1);
  CHECK(device.counters().fusion.launches == launches);
}

/// Numbers that nobody has stored yet are shared with their views as storage is.
inline void check_constant_views(Device& device) {
  using Floats = std::vector<float>;
  const auto launches = [&] { return device.counters().fusion.launches.load(); };
  Tensor x = zeros({2, 3}, device);
  fill_(narrow(x, 1, 0, 2), 5);
  CHECK(x.to_host<float>() == Floats{5, 5, 0, 5, 5, 0});
  // From a view to all others, and from what they are views of.
  x = full({2, 4}, 1.0F, device);
  const Tensor row = narrow(x, 0, 1, 1);
  const Tensor turned = flip(x, 1).transpose();
  const Tensor flat = x.reshape({8});
  const Tensor repeated = row.broadcast_to({2, 4});
  copy_(slice(flat, 0, 1, 8, 2), on_device(device, {1, 2, 3, 4}));
  CHECK(x.to_host<float>() == Floats{1, 1, 1, 2, 1, 3, 1, 4});
  CHECK(row.to_host<float>() == Floats{1, 3, 1, 4});
  CHECK((row + 1.0F).to_host<float>() == Floats{2, 4, 2, 5});
  CHECK(turned.to_host<float>() == Floats{2, 4, 1, 1, 1, 3, 1, 1});
  CHECK(turned.sum().item() == 14);
  add_(x, 1.0F);
  CHECK(repeated.to_host<float>() == Floats{2, 4, 2, 5, 2, 4, 2, 5});
  CHECK(narrow(turned, 0, 0, 1).to_host<float>() == Floats{3, 5});
  const Tensor target = zeros({8}, device);
  assign(target, flat);
  CHECK(target.to_host<float>() == Floats{2, 2, 2, 3, 2, 4, 2, 5});
  CHECK_THROWS_AS(fill_(zeros({3}, device).broadcast_to({2, 3}), 1), ShapeError);
  // Whatever asks for a view first sees what was written.
  x = full({4}, 1.0F, device);
  const std::array<Tensor, 4> unread{narrow(x, 0, 1, 2), flip(x, 0), slice(x, 0, 0, 4, 2),
                                     x.reshape({2, 2})};
  fill_(x, 3.0F);
  CHECK((unread[0] + 1.0F).to_host<float>() == Floats{4, 4});
  CHECK(unread[1].sum().item() == 12);
  CHECK(narrow(unread[2], 0, 1, 1).item() == 3);
  CHECK(unread[3].transpose().reshape({4}).to_host<float>() == Floats{3, 3, 3, 3});
  // A view whose base nobody else holds any more still shares the memory of the other views.
  x = zeros({4}, device);
  const Tensor front = narrow(x, 0, 0, 2);
  const Tensor square = x.reshape({2, 2});
  square.eval();
  x = Tensor();
  fill_(front, 7.0F);
  CHECK(square.to_host<float>() == Floats{7, 7, 0, 0});
  // They are stored once, and only when somebody needs that.
  x = full({3}, 2.0F, device);
  const Tensor part = narrow(x, 0, 1, 2);
  std::uint64_t before = launches();
  const Tensor sum = part + 3.0F;
  CHECK(launches() == before);
  part.eval();
  x.eval();
  CHECK(launches() == before + 1);
  CHECK(sum.to_host<float>() == Floats{5, 5});
  const std::array<Tensor, 2> both{zeros({2}, device), full({2, 2}, 4.0F, device)};
  const std::array<Tensor, 2> views{narrow(both[0], 0, 0, 2), narrow(both[1], 0, 1, 1)};
  eval(views);
  fill_(both[1], 6.0F);
  CHECK(views[1].to_host<float>() == Floats{6, 6});
  // Of something huge that nobody has any more, a view is on its own.
  const std::int64_t huge = std::int64_t{1} << 40;
  const Tensor alone = narrow(zeros({huge}, device), 0, 5, 2);
  CHECK(alone.to_host<float>() == Floats{0, 0});
  // What a graph writes to a number from before is seen by all, from the first replay on.
  x = zeros({2, 2}, device);
  const Tensor column = narrow(x, 1, 1, 1);
  Tensor seen;
  const Graph graph = capture(device, [&] {
    add_(column, 1.0F);
    seen = (x + 0.0F).eval();
  });
  CHECK(column.to_host<float>() == Floats{0, 0});
  graph.replay();
  CHECK(seen.to_host<float>() == Floats{0, 1, 0, 1});
  add_(column, 7.0F);
  CHECK(x.to_host<float>() == Floats{0, 8, 0, 8});
}

/// Graphs hold such writes, and do them again.
inline void check_strided_writes_replay(Device& device) {
  using Floats = std::vector<float>;
  const Tensor x = from_host<float>(Floats{0, 0, 0, 0, 0, 0}, {2, 3}, device);
  const Tensor y = from_host<float>(Floats{1, 2}, {2}, device);
  Graph graph = capture(device, [&] { add_(narrow(x, 1, 0, 2), 1.0F); });
  CHECK(graph.size() == 2);  // the values, and the copy
  CHECK(capture(device, [&] { add_(narrow(x, 0, 0, 1), 1.0F); }).size() == 1);
  CHECK(x.to_host<float>() == Floats{0, 0, 0, 0, 0, 0});
  for (int i = 0; i < 3; ++i) graph.replay();
  CHECK(x.to_host<float>() == Floats{3, 3, 0, 3, 3, 0});
  Tensor seen;
  graph.update([&] {
    copy_(flip(x.transpose(), 1), y);  // by strides of 0
    fill_(slice(x, 1, 2, kSliceEnd, -2), 9.0F);
    assign(narrow(x, 1, 0, 2), narrow(x, 1, 1, 2));
    seen = (x * 2.0F).eval();
  });
  for (int i = 0; i < 2; ++i) {
    fill_(x, 0.0F);
    graph.replay();
    CHECK(x.to_host<float>() == Floats{2, 9, 9, 1, 9, 9});
    CHECK(seen.to_host<float>() == Floats{4, 18, 18, 2, 18, 18});
  }
  fill_(y, 5.0F);
  graph.replay();
  CHECK(x.to_host<float>() == Floats{5, 9, 9, 5, 9, 9});
  // What the graph uses lives on with it.
  Graph alone;
  Tensor part;
  {
    const Tensor target = zeros({2, 2}, device).eval();
    const Tensor source = from_host<float>(Floats{6, 7, 8, 9}, {2, 2}, device);
    part = narrow(target, 1, 1, 1);
    const Tensor unread = zeros({2, 2}, device).eval();
    alone = capture(device, [&] {
      assign(target.transpose(), source);
      assign(unread.transpose(), source);
    });
  }
  std::vector<Tensor> others;
  for (int i = 0; i < 10; ++i) others.push_back(full({2, 2}, -1.0F, device).eval());
  alone.replay();
  CHECK(part.to_host<float>() == Floats{8, 9});
  for (const Tensor& other : others) CHECK(other.to_host<float>() == Floats{-1, -1, -1, -1});
}

}  // namespace forebay::testing
