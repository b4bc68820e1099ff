// Adam's arithmetic and its kernel: one text for the host, where it is included, and for CUDA,
// where it is pasted after compute's prelude. It includes nothing; contraction is off on both
// sides, so both give the same bits.

#define FB_ADAM_CHUNK 4096  // elements that a block takes at a time

// Powers and corrections of the step that comes next for one parameter. Each parameter has two: a
// step reads one, and whoever has the parameter's first chunk writes the other.
struct FbAdamPowers {
  double beta1;  // β₁ᵗ
  double beta2;
  float scale1;  // 1 / (1 - β₁ᵗ)
  float scale2;  // 1 / √(1 - β₂ᵗ)
};

// A row of the table.
struct FbAdamRow {
  float* p;
  const float* g;
  float* m;
  float* v;
  FbAdamPowers* powers;
  long long count;
};

struct FbAdamChunk {
  unsigned row;
  unsigned index;  // of the chunk in its row
};

struct FbAdamState {
  double beta1;
  double beta2;
  float weight1;  // 1 - β₁
  float weight2;
  float eps;
  float decay;
  unsigned long long step;  // steps done
  unsigned ticket;          // blocks that are done with this step
};

struct FbAdamRates {
  float step_size;
  float scale2;
  float weight1;
  float weight2;
  float eps;
  float decay;
};

FB_FN FbAdamPowers fb_adam_powers(double beta1, double beta2) {
#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
  const double root = __dsqrt_rn(1.0 - beta2);
#else
  const double root = __builtin_sqrt(1.0 - beta2);
#endif
  const FbAdamPowers powers = {beta1, beta2, (float)(1.0 / (1.0 - beta1)), (float)(1.0 / root)};
  return powers;
}

FB_FN FbAdamRates fb_adam_rates(const FbAdamState* state, const FbAdamPowers* powers, float lr) {
  const FbAdamRates rates = {lr * powers->scale1, powers->scale2, state->weight1,
                             state->weight2,      state->eps,     state->decay};
  return rates;
}

// Where an element's rounding lies in this step, in 2^-32 ulp. Along the steps it is the golden
// ratio's sequence, whose gaps are even for any number of steps.
FB_FN unsigned fb_adam_dither(unsigned long long step, long long index) {
  return (unsigned)step * 0x9E3779B9U + (unsigned)index * 0x85EBCA6BU;
}

// a - b, rounded up or down in proportion to how near each is. To the nearest, equal updates would
// lose the same part of an ulp every time, 1000 of them up to 500 ulp.
FB_FN float fb_subtract_dithered(float a, float b, unsigned dither) {
  const float s = a - b;
  const float moved = s - a;
  const float lost = (a - (s - moved)) - (b + moved);  // exact (Knuth's TwoSum)
  const float ulp = FB_FLOAT(FB_BITS(s) & 0x7f800000U) * 1.1920928955078125e-7F;
  const float shift = ((float)(dither >> 8) * 5.9604644775390625e-8F - 0.5F) * ulp;
  const float dithered = s + (lost + shift);
  return lost < 0.0F || lost > 0.0F ? dithered : s;
}

FB_FN void fb_adam_update(const FbAdamRates r, unsigned dither, float g, float& p, float& m,
                          float& v) {
  const float slope = r.decay != 0.0F ? g + r.decay * p : g;
  m = m + r.weight1 * (slope - m);
  v = v + r.weight2 * (slope * slope - v);
  const float root = FB_SQRT(v) * r.scale2 + r.eps;
  p = fb_subtract_dithered(p, FB_DIV(r.step_size * m, root), dither);
}

#if defined(__CUDACC_RTC__) || defined(__CUDA_ARCH__)
// Costs 28 bytes of traffic for each element. A block takes chunks that follow each other, so that
// table and powers are mostly in its cache. The last one to finish counts the step, for the next
// launch.
extern "C" __global__ void __launch_bounds__(256, 4)
    fb_adam(const FbAdamRow* rows, const FbAdamChunk* chunks, unsigned chunk_count,
            const float* lr, FbAdamState* state) {
  const unsigned long long step = state->step;
  const unsigned first = (unsigned)((unsigned long long)chunk_count * blockIdx.x / gridDim.x);
  const unsigned end = (unsigned)((unsigned long long)chunk_count * (blockIdx.x + 1) / gridDim.x);
  for (unsigned c = first; c < end; ++c) {
    const FbAdamChunk chunk = chunks[c];
    const FbAdamRow row = rows[chunk.row];
    const FbAdamPowers* now = row.powers + (step & 1);
    const FbAdamRates rates = fb_adam_rates(state, now, *lr);
    const long long begin = (long long)chunk.index * FB_ADAM_CHUNK;
    const long long left = row.count - begin;
    const unsigned count = left < FB_ADAM_CHUNK ? (unsigned)left : FB_ADAM_CHUNK;
    const unsigned dither = fb_adam_dither(step, begin);
    float* p = row.p + begin;
    const float* g = row.g + begin;
    float* m = row.m + begin;
    float* v = row.v + begin;

    // Elements before the first 16-byte border; all of them if the arrays have none in common.
    const unsigned long long skew = (unsigned long long)p & 15;
    const bool aligned = skew == ((unsigned long long)g & 15) &&
                         skew == ((unsigned long long)m & 15) &&
                         skew == ((unsigned long long)v & 15);
    unsigned head = aligned ? (4U - (unsigned)(skew >> 2)) & 3U : count;
    head = head < count ? head : count;
    const unsigned vectors = (count - head) >> 2;
    const unsigned tail = head + (vectors << 2);

    for (unsigned i = threadIdx.x; i < vectors; i += 256) {
      const unsigned at = head + (i << 2);
      const float4 g4 = __ldcs((const float4*)(g + at));
      float4 p4 = *(const float4*)(p + at);
      float4 m4 = *(const float4*)(m + at);
      float4 v4 = *(const float4*)(v + at);
      const unsigned d = dither + fb_adam_dither(0, at);
      fb_adam_update(rates, d, g4.x, p4.x, m4.x, v4.x);
      fb_adam_update(rates, d + fb_adam_dither(0, 1), g4.y, p4.y, m4.y, v4.y);
      fb_adam_update(rates, d + fb_adam_dither(0, 2), g4.z, p4.z, m4.z, v4.z);
      fb_adam_update(rates, d + fb_adam_dither(0, 3), g4.w, p4.w, m4.w, v4.w);
      *(float4*)(p + at) = p4;
      *(float4*)(m + at) = m4;
      *(float4*)(v + at) = v4;
    }
    // Head and tail, as one range with the vectors cut out.
    for (unsigned i = threadIdx.x; i < count - (vectors << 2); i += 256) {
      const unsigned at = i < head ? i : i - head + tail;
      fb_adam_update(rates, dither + fb_adam_dither(0, at), g[at], p[at], m[at], v[at]);
    }
    if (chunk.index == 0 && threadIdx.x == 0) {
      row.powers[(step + 1) & 1] =
          fb_adam_powers(now->beta1 * state->beta1, now->beta2 * state->beta2);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(&state->ticket, 1U) == gridDim.x - 1) {
      state->ticket = 0;
      state->step = step + 1;
    }
  }
}
#endif
