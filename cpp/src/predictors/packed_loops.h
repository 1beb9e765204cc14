// The loops of packed_kernels.h, compiled once for each instruction set: a source includes this after LATPRED_LANES
// (floats of a vector register), LATPRED_TILE_ROWS, LATPRED_IS_SUPPORTED, LATPRED_KERNELS (the table) and
// LATPRED_KERNELS_NAME. Calls no inline function of a library: the linker would keep one copy for all instruction sets.
#include "predictors/packed_kernels.h"

namespace latpred {
namespace {

constexpr std::int64_t kLanes = LATPRED_LANES;
constexpr std::int64_t kTileRows = LATPRED_TILE_ROWS;
constexpr std::int64_t kTileVectors = 2;
static_assert(kRowUnit % kTileRows == 0 && kWidthUnit % (kTileVectors * kLanes) == 0 && kScoreUnit % kLanes == 0);

constexpr float kNormEpsilon = 1e-5f;  // torch's

bool is_supported() { return LATPRED_IS_SUPPORTED; }

typedef float Vector __attribute__((vector_size(sizeof(float) * LATPRED_LANES)));
typedef float Loaded __attribute__((vector_size(sizeof(float) * LATPRED_LANES), aligned(4), may_alias));
typedef std::int32_t Integers __attribute__((vector_size(sizeof(float) * LATPRED_LANES)));
typedef std::uint32_t Hashes __attribute__((vector_size(sizeof(float) * LATPRED_LANES)));

inline Vector load(const float* from) { return *reinterpret_cast<const Loaded*>(from); }
inline void store(float* to, Vector values) { *reinterpret_cast<Loaded*>(to) = values; }

inline float sum(Vector values) {
  float lanes[kLanes];
  store(lanes, values);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}
inline float largest(Vector values) {
  float lanes[kLanes];
  store(lanes, values);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  }
  return lanes[0];
}

inline Integers lane_numbers() {
  Integers result;
  for (std::int64_t i = 0; i < kLanes; ++i) result[i] = static_cast<std::int32_t>(i);
  return result;
}

// e^x for x <= 0, to two units of the last place: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2] (Cephes' expf).
inline Vector exponential(Vector x) {
  const Vector lowest = Vector{} - 87.0f;
  x = x < lowest ? lowest : x;
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  const Vector shifted = x * 1.44269504088896341f + kRounder;
  const Vector n = shifted - kRounder;
  const Vector r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Vector p = Vector{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Integers power = (reinterpret_cast<Integers>(n + kRounder) - 0x4B400000 + 127) << 23;
  return p * reinterpret_cast<Vector>(power);
}

// The scale of kLanes values from `position` on: 0 where they are dropped.
inline Vector kept_scale(const Dropout& dropout, std::uint32_t position, Integers lanes) {
  // Wellons' "lowbias32" over a Weyl sequence.
  Hashes x = (reinterpret_cast<Hashes>(lanes) + position) * 0x9E3779B9u + dropout.key;
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  x ^= x >> 16;
  const Hashes threshold = Hashes{} + dropout.threshold;
  return x < threshold ? Vector{} : Vector{} + dropout.scale;
}

// sum [kTileRows, kTileVectors] = a b over `inner` steps: a's elements lie `row_stride` and `step` apart.
inline void tile(const float* a, std::int64_t row_stride, std::int64_t step, const float* b, std::int64_t columns,
                 std::int64_t inner, Vector (&sums)[kTileRows][kTileVectors]) {
  Vector acc[kTileRows][kTileVectors] = {};
  for (std::int64_t k = 0; k < inner; ++k, a += step, b += columns) {
    const Vector b0 = load(b);
    const Vector b1 = load(b + kLanes);
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      const Vector ar = Vector{} + a[r * row_stride];
      acc[r][0] += ar * b0;
      acc[r][1] += ar * b1;
    }
  }
#pragma GCC unroll 8
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    sums[r][0] = acc[r][0];
    sums[r][1] = acc[r][1];
  }
}

void multiply(const float* a, const float* b, const float* bias, bool rectify, std::int64_t rows, std::int64_t inner,
              std::int64_t columns, float* c) {
  for (std::int64_t j = 0; j < columns; j += kTileVectors * kLanes) {  // this part of b stays in the first cache
    for (std::int64_t i = 0; i < rows; i += kTileRows) {
      Vector sums[kTileRows][kTileVectors];
      tile(a + i * inner, inner, 1, b + j, columns, inner, sums);
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        for (std::int64_t v = 0; v < kTileVectors; ++v) {
          Vector values = sums[r][v];
          if (bias != nullptr) values += load(bias + j + v * kLanes);
          if (rectify) values = values > Vector{} ? values : Vector{};
          store(c + (i + r) * columns + j + v * kLanes, values);
        }
      }
    }
  }
}

void multiply_transposed(const float* a, const float* b, std::int64_t rows, std::int64_t columns_a,
                         std::int64_t columns_b, float* c, float* sums) {
  for (std::int64_t j = 0; j < columns_b; j += kTileVectors * kLanes) {
    for (std::int64_t i = 0; i < columns_a; i += kTileRows) {
      Vector products[kTileRows][kTileVectors];
      tile(a + i, 1, columns_a, b + j, columns_b, rows, products);
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        for (std::int64_t v = 0; v < kTileVectors; ++v) {
          store(c + (i + r) * columns_b + j + v * kLanes, products[r][v]);
        }
      }
    }
  }
  for (std::int64_t i = 0; i < columns_a; i += kLanes) {
    Vector column{};
    for (std::int64_t t = 0; t < rows; ++t) column += load(a + t * columns_a + i);
    store(sums + i, column);
  }
}

void transpose(const float* in, std::int64_t rows, std::int64_t columns, float* out) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) out[j * rows + i] = in[i * columns + j];
  }
}

// LN of one row to `use`, which gets the place and the values.
template <typename Use>
inline void normalise_row(const float* x, LayerNormOf norm, std::int64_t width, float& mean_out, float& inverse_out,
                          const Use& use) {
  Vector total{};
  for (std::int64_t i = 0; i < width; i += kLanes) total += load(x + i);
  const float mean = sum(total) / static_cast<float>(width);
  Vector squares{};
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const Vector centred = load(x + i) - mean;
    squares += centred * centred;
  }
  const float inverse = 1.0f / __builtin_sqrtf(sum(squares) / static_cast<float>(width) + kNormEpsilon);
  for (std::int64_t i = 0; i < width; i += kLanes) {
    use(i, (load(x + i) - mean) * inverse * load(norm.gain + i) + load(norm.bias + i));
  }
  mean_out = mean;
  inverse_out = inverse;
}

void norm(const float* x, LayerNormOf of, std::int64_t rows, std::int64_t width, Moments moments, float* out) {
  for (std::int64_t t = 0; t < rows; ++t) {
    float* row = out + t * width;
    normalise_row(x + t * width, of, width, moments.mean[t], moments.inverse_deviation[t],
                  [&](std::int64_t i, Vector values) { store(row + i, values); });
  }
}

void norm_and_add(const float* x, LayerNormOf of, std::int64_t rows, std::int64_t width, const float* residual,
                  Dropout dropout, Moments moments, float* out) {
  const Integers lanes = lane_numbers();
  for (std::int64_t t = 0; t < rows; ++t) {
    const float* before = residual + t * width;
    float* row = out + t * width;
    const auto position = (dropout.first_row + static_cast<std::uint32_t>(t)) * static_cast<std::uint32_t>(width);
    normalise_row(x + t * width, of, width, moments.mean[t], moments.inverse_deviation[t],
                  [&](std::int64_t i, Vector values) {
                    if (dropout.threshold != 0) {
                      values *= kept_scale(dropout, position + static_cast<std::uint32_t>(i), lanes);
                    }
                    store(row + i, load(before + i) + values);
                  });
  }
}

// Gradient of LN by rows; `gradient_at(t, i)` is what arrives at its output.
template <bool kAdd, typename GradientAt>
inline void norm_backward_rows(const GradientAt& gradient_at, const float* x, LayerNormOf of, std::int64_t rows,
                               std::int64_t width, Moments moments, float* d_x, float* d_gain, float* d_bias) {
  for (std::int64_t i = 0; i < width; i += kLanes) {
    store(d_gain + i, Vector{});
    store(d_bias + i, Vector{});
  }
  for (std::int64_t t = 0; t < rows; ++t) {
    const float mean = moments.mean[t];
    const float inverse = moments.inverse_deviation[t];
    const float* row = x + t * width;
    float* d_row = d_x + t * width;
    Vector total{};
    Vector along{};
    for (std::int64_t i = 0; i < width; i += kLanes) {
      const Vector gradient = gradient_at(t, i);
      const Vector scaled = (load(row + i) - mean) * inverse;
      store(d_gain + i, load(d_gain + i) + gradient * scaled);
      store(d_bias + i, load(d_bias + i) + gradient);
      const Vector weighted = gradient * load(of.gain + i);
      total += weighted;
      along += weighted * scaled;
    }
    const float mean_gradient = sum(total) / static_cast<float>(width);
    const float mean_along = sum(along) / static_cast<float>(width);
    for (std::int64_t i = 0; i < width; i += kLanes) {
      const Vector scaled = (load(row + i) - mean) * inverse;
      const Vector weighted = gradient_at(t, i) * load(of.gain + i);
      const Vector result = (weighted - mean_gradient - scaled * mean_along) * inverse;
      store(d_row + i, kAdd ? load(d_row + i) + result : result);
    }
  }
}

void norm_backward(const float* d_out, const float* x, LayerNormOf of, std::int64_t rows, std::int64_t width,
                   Moments moments, float* d_x, float* d_gain, float* d_bias) {
  const auto gradient_at = [&](std::int64_t t, std::int64_t i) { return load(d_out + t * width + i); };
  norm_backward_rows<true>(gradient_at, x, of, rows, width, moments, d_x, d_gain, d_bias);
}

void norm_and_add_backward(const float* d_out, const float* x, LayerNormOf of, std::int64_t rows, std::int64_t width,
                           Dropout dropout, Moments moments, float* d_x, float* d_gain, float* d_bias) {
  const Integers lanes = lane_numbers();
  const auto gradient_at = [&](std::int64_t t, std::int64_t i) {
    const Vector gradient = load(d_out + t * width + i);
    if (dropout.threshold == 0) return gradient;
    const auto position = (dropout.first_row + static_cast<std::uint32_t>(t)) * static_cast<std::uint32_t>(width);
    return gradient * kept_scale(dropout, position + static_cast<std::uint32_t>(i), lanes);
  };
  norm_backward_rows<false>(gradient_at, x, of, rows, width, moments, d_x, d_gain, d_bias);
}

inline std::int64_t padded(std::int64_t nodes) { return (nodes + kScoreUnit - 1) / kScoreUnit * kScoreUnit; }

// out [width, padded nodes]: columns of nodes, zeros after the last.
inline void turn(const float* in, std::int64_t stride, std::int64_t nodes, std::int64_t width, float* out) {
  const std::int64_t columns = padded(nodes);
  for (std::int64_t d = 0; d < width; ++d) {
    for (std::int64_t j = 0; j < nodes; ++j) out[d * columns + j] = in[j * stride + d];
    for (std::int64_t j = nodes; j < columns; ++j) out[d * columns + j] = 0;
  }
}

// out [columns] = row [width] times turned [width, columns]
inline Vector scores_of(const float* row, const float* turned, std::int64_t width, std::int64_t columns) {
  Vector even{};
  Vector odd{};
  for (std::int64_t d = 0; d < width; d += 2) {
    even += row[d] * load(turned + d * columns);
    odd += row[d + 1] * load(turned + (d + 1) * columns);
  }
  return even + odd;
}

void attention(const float* qkv, PackedAttentionSizes sizes, float* scratch, float* shares, float* out) {
  const std::int64_t head_width = sizes.head_width;
  const std::int64_t width = sizes.heads * head_width;
  const std::int64_t stride = 3 * width;
  const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(head_width));
  const Integers lanes = lane_numbers();
  const Vector never = Vector{} - 1e30f;
  for (std::int64_t g = 0; g < sizes.num_graphs; ++g) {
    const std::int64_t first = sizes.first_token[g];
    const std::int64_t nodes = sizes.first_token[g + 1] - first;
    const std::int64_t columns = padded(nodes);
    for (std::int64_t h = 0; h < sizes.heads; ++h, shares += nodes * columns) {
      const float* queries = qkv + first * stride + h * head_width;
      const float* values = queries + 2 * width;
      turn(queries + width, stride, nodes, head_width, scratch);
      for (std::int64_t i = 0; i < nodes; ++i) {
        float* row = shares + i * columns;
        Vector top = never;
        for (std::int64_t j = 0; j < columns; j += kLanes) {
          Vector scores = scores_of(queries + i * stride, scratch + j, head_width, columns) * scale;
          scores = lanes < static_cast<std::int32_t>(nodes - j) ? scores : never;
          top = scores > top ? scores : top;
          store(row + j, scores);
        }
        const float highest = largest(top);
        Vector total{};
        for (std::int64_t j = 0; j < columns; j += kLanes) {
          Vector powers = exponential(load(row + j) - highest);
          powers = lanes < static_cast<std::int32_t>(nodes - j) ? powers : Vector{};
          total += powers;
          store(row + j, powers);
        }
        const float inverse = 1.0f / sum(total);
        for (std::int64_t j = 0; j < columns; j += kLanes) store(row + j, load(row + j) * inverse);
        for (std::int64_t d = 0; d < head_width; d += kLanes) {
          Vector result{};
          for (std::int64_t j = 0; j < nodes; ++j) result += row[j] * load(values + j * stride + d);
          store(out + (first + i) * width + h * head_width + d, result);
        }
      }
    }
  }
}

// to [nodes, head_width] = scale * weights^T (or weights) from: one of the three products of the way back.
template <bool kTransposed>
inline void spread(const float* weights, std::int64_t columns, const float* from, std::int64_t from_stride,
                   std::int64_t nodes, std::int64_t head_width, float scale, float* to, std::int64_t to_stride) {
  for (std::int64_t i = 0; i < nodes; ++i) {
    for (std::int64_t d = 0; d < head_width; d += kLanes) {
      Vector result{};
      for (std::int64_t j = 0; j < nodes; ++j) {
        const float weight = kTransposed ? weights[j * columns + i] : weights[i * columns + j];
        result += weight * load(from + j * from_stride + d);
      }
      store(to + i * to_stride + d, result * scale);
    }
  }
}

void attention_backward(const float* d_out, const float* qkv, const float* shares, PackedAttentionSizes sizes,
                        float* scratch, float* d_qkv) {
  const std::int64_t head_width = sizes.head_width;
  const std::int64_t width = sizes.heads * head_width;
  const std::int64_t stride = 3 * width;
  const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(head_width));
  for (std::int64_t g = 0; g < sizes.num_graphs; ++g) {
    const std::int64_t first = sizes.first_token[g];
    const std::int64_t nodes = sizes.first_token[g + 1] - first;
    const std::int64_t columns = padded(nodes);
    float* d_scores = scratch + head_width * columns;
    for (std::int64_t h = 0; h < sizes.heads; ++h, shares += nodes * columns) {
      const float* queries = qkv + first * stride + h * head_width;
      const float* gradients = d_out + first * width + h * head_width;
      float* d_queries = d_qkv + first * stride + h * head_width;
      turn(queries + 2 * width, stride, nodes, head_width, scratch);
      for (std::int64_t i = 0; i < nodes; ++i) {
        const float* row = shares + i * columns;
        float* d_row = d_scores + i * columns;
        Vector total{};
        for (std::int64_t j = 0; j < columns; j += kLanes) {
          const Vector d_share = scores_of(gradients + i * width, scratch + j, head_width, columns);
          total += d_share * load(row + j);
          store(d_row + j, d_share);
        }
        const float along = sum(total);
        for (std::int64_t j = 0; j < columns; j += kLanes) store(d_row + j, load(row + j) * (load(d_row + j) - along));
      }
      spread<false>(d_scores, columns, queries + width, stride, nodes, head_width, scale, d_queries, stride);
      spread<true>(d_scores, columns, queries, stride, nodes, head_width, scale, d_queries + width, stride);
      spread<true>(shares, columns, gradients, width, nodes, head_width, 1, d_queries + 2 * width, stride);
    }
  }
}

// Some of the last values, 0 behind them.
inline Vector load_some(const float* from, std::int64_t count) {
  Vector result{};
  for (std::int64_t i = 0; i < count; ++i) result[i] = from[i];
  return result;
}
inline void store_some(float* to, Vector values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = values[i];
}

void rectify(const float* x, Dropout dropout, std::int64_t n, float* out) {
  const Integers lanes = lane_numbers();
  const auto rectified = [&](Vector values, std::int64_t position) {
    values = values > Vector{} ? values : Vector{};
    return dropout.threshold == 0 ? values : values * kept_scale(dropout, static_cast<std::uint32_t>(position), lanes);
  };
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) store(out + i, rectified(load(x + i), i));
  store_some(out + whole, rectified(load_some(x + whole, n - whole), whole), n - whole);
}

void rectify_backward(const float* d_out, const float* out, float scale, std::int64_t n, float* d_x) {
  const auto passed = [&](Vector gradient, Vector values) { return values > Vector{} ? gradient * scale : Vector{}; };
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) store(d_x + i, passed(load(d_out + i), load(out + i)));
  const std::int64_t rest = n - whole;
  store_some(d_x + whole, passed(load_some(d_out + whole, rest), load_some(out + whole, rest)), rest);
}

void adam(const float* const* gradients, std::int64_t num_gradients, std::int64_t n, AdamStep step, float* parameters,
          float* first_moment, float* second_moment) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    Vector gradient = load(gradients[0] + i);
    for (std::int64_t part = 1; part < num_gradients; ++part) gradient += load(gradients[part] + i);
    const Vector first = step.first_decay * load(first_moment + i) + (1 - step.first_decay) * gradient;
    const Vector second = step.second_decay * load(second_moment + i) + (1 - step.second_decay) * gradient * gradient;
    Vector root;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) root[lane] = __builtin_sqrtf(second[lane]);
    store(first_moment + i, first);
    store(second_moment + i, second);
    store(parameters + i, load(parameters + i) - step.rate * first / (root * step.inverse_root + step.epsilon));
  }
}

}  // namespace

extern const PackedKernels LATPRED_KERNELS;
const PackedKernels LATPRED_KERNELS{LATPRED_KERNELS_NAME,
                                    &is_supported,
                                    &multiply,
                                    &multiply_transposed,
                                    &transpose,
                                    &norm,
                                    &norm_and_add,
                                    &norm_backward,
                                    &norm_and_add_backward,
                                    &attention,
                                    &attention_backward,
                                    &rectify,
                                    &rectify_backward,
                                    &adam};

}  // namespace latpred
