// What argmin and argmax carry: a value and where it was. Of equal values the lowest index wins;
// NaN wins over everything.
template <typename T>
struct FbBest {
  T value;
  long long index;
};
template <typename T>
FB_FN bool fb_is_nan(T /*a*/) {
  return false;
}
FB_FN bool fb_is_nan(double a) { return a != a; }
FB_FN bool fb_is_nan(float a) { return a != a; }
template <typename T>
FB_FN FbBest<T> fb_better(FbBest<T> a, FbBest<T> b, bool less) {
  const bool a_nan = fb_is_nan(a.value);
  const bool b_nan = fb_is_nan(b.value);
  const bool before = less ? a.value < b.value : a.value > b.value;
  const bool same = a.value == b.value || (a_nan && b_nan);
  const bool first = same ? a.index < b.index : (a_nan || (before && !b_nan));
  return first ? a : b;
}
template <typename T>
FB_FN FbBest<T> fb_best_min(FbBest<T> a, FbBest<T> b) {
  return fb_better(a, b, true);
}
template <typename T>
FB_FN FbBest<T> fb_best_max(FbBest<T> a, FbBest<T> b) {
  return fb_better(a, b, false);
}
