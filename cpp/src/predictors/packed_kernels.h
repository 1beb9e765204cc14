#pragma once

#include <cstdint>
#include <vector>

namespace latpred {

// The loops of a small transformer over packed tokens: T rows without padding, graph after graph. Plain numbers, no
// torch: matrices of a few hundred rows cost less here than the calls of a library around them. Every matrix is
// row-major float; widths are multiples of kWidthUnit, and rows lie in buffers of whole kRowUnits (the rows after the
// last are computed and never read).
inline constexpr std::int64_t kWidthUnit = 32;
inline constexpr std::int64_t kRowUnit = 8;
// `size` in whole units.
[[nodiscard]] constexpr std::int64_t whole(std::int64_t size, std::int64_t unit) {
  return (size + unit - 1) / unit * unit;
}
// Scores of a row of attention are kept in whole units of this.
inline constexpr std::int64_t kScoreUnit = 16;

// Which values of a site are dropped: a hash of (key, position) decides, so that nothing is stored, the backward pass
// finds the same ones, and no thread waits for another's generator.
struct Dropout {
  std::uint32_t key = 0;
  std::uint32_t threshold = 0;  // hashes below it drop; 0 drops nothing
  float scale = 1;              // of what is kept
  std::uint32_t first_row = 0;  // of the whole batch, where a part of it is computed
};

// Drops this share of values.
[[nodiscard]] Dropout dropout_of(double share, std::uint32_t key);

struct LayerNormOf {
  const float* gain;  // [D]
  const float* bias;  // [D]
};

// What the backward pass of a LayerNorm needs besides its input.
struct Moments {
  float* mean;               // [T]
  float* inverse_deviation;  // [T]
};

struct PackedAttentionSizes {
  const std::int64_t* first_token;  // [G + 1]
  std::int64_t num_graphs;
  std::int64_t heads;
  std::int64_t head_width;
};

struct AdamStep {
  float rate;          // over the first moment's bias correction
  float inverse_root;  // 1 / sqrt of the second moment's bias correction
  float first_decay;
  float second_decay;
  float epsilon;
};

// One row for each instruction set that the loops are compiled for.
struct PackedKernels {
  const char* name;
  bool (*is_supported)();

  // c [rows, columns] = a [rows, inner] b [inner, columns] + bias (may be null), then max(0, .) where `rectify`.
  void (*multiply)(const float* a, const float* b, const float* bias, bool rectify, std::int64_t rows,
                   std::int64_t inner, std::int64_t columns, float* c);
  // c [columns_a, columns_b] = a^T b over `rows` rows; `sums` [columns_a] = the column sums of a.
  void (*multiply_transposed)(const float* a, const float* b, std::int64_t rows, std::int64_t columns_a,
                              std::int64_t columns_b, float* c, float* sums);
  void (*transpose)(const float* in, std::int64_t rows, std::int64_t columns, float* out);

  // out = LN(x)
  void (*norm)(const float* x, LayerNormOf norm, std::int64_t rows, std::int64_t width, Moments moments, float* out);
  // out = residual + dropout(LN(x))
  void (*norm_and_add)(const float* x, LayerNormOf norm, std::int64_t rows, std::int64_t width, const float* residual,
                       Dropout dropout, Moments moments, float* out);
  // d_x += the gradient of norm; d_gain, d_bias [D] are written.
  void (*norm_backward)(const float* d_out, const float* x, LayerNormOf norm, std::int64_t rows, std::int64_t width,
                        Moments moments, float* d_x, float* d_gain, float* d_bias);
  // d_x = the gradient of norm_and_add without its residual.
  void (*norm_and_add_backward)(const float* d_out, const float* x, LayerNormOf norm, std::int64_t rows,
                                std::int64_t width, Dropout dropout, Moments moments, float* d_x, float* d_gain,
                                float* d_bias);

  // qkv [T, 3 D] to out [T, D]; `shares`: for each graph and head [n, n in whole kScoreUnits], kept for the way back.
  void (*attention)(const float* qkv, PackedAttentionSizes sizes, float* scratch, float* shares, float* out);
  void (*attention_backward)(const float* d_out, const float* qkv, const float* shares, PackedAttentionSizes sizes,
                             float* scratch, float* d_qkv);

  // out [n] = dropout(max(0, x))
  void (*rectify)(const float* x, Dropout dropout, std::int64_t n, float* out);
  // d_x [n] = scale * d_out where `out` of a rectifier is above 0, else 0; may be d_out itself.
  void (*rectify_backward)(const float* d_out, const float* out, float scale, std::int64_t n, float* d_x);
  void (*adam)(const float* const* gradients, std::int64_t num_gradients, std::int64_t n, AdamStep step,
               float* parameters, float* first_moment, float* second_moment);
};

// Fastest first; the last runs everywhere.
[[nodiscard]] std::vector<const PackedKernels*> packed_kernels();
// The first that this processor supports.
[[nodiscard]] const PackedKernels& fastest_packed_kernels();

// Floats of `scratch` that attention needs for graphs of up to `nodes`.
[[nodiscard]] std::int64_t attention_scratch_size(std::int64_t nodes, std::int64_t head_width);
// Floats of `shares` for one graph.
[[nodiscard]] std::int64_t attention_shares_size(std::int64_t nodes, std::int64_t heads);

}  // namespace latpred
