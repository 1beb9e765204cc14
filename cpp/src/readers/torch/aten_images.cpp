#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

// "upsample_bilinear2d": the way and the number of dimensions.
void upsample(const AtenCall& call) {
  const std::string_view name = call.row().name;
  const VariableId x = call.required(call.node().find("input") != nullptr ? "input" : "self");
  Statement statement = call.statement(OperatorId::resize, {x});
  const bool is_nearest = name.find("nearest") != std::string_view::npos;
  const bool is_cubic = name.find("cubic") != std::string_view::npos;
  statement.attributes.set("mode", std::string(is_nearest ? "nearest" : is_cubic ? "cubic" : "linear"));
  if (call.flag("align_corners")) {
    statement.attributes.set("coordinate_transformation_mode", std::string("align_corners"));
  }
  Shape axes;
  for (std::size_t axis = 2; axis < call.rank(x); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  statement.attributes.set("axes", axes);
  if (call.has("output_size")) {
    call.set_list(statement, "sizes", call.list("output_size"), 3);
  } else {
    statement.attributes.set("scales", call.reals("scale_factors"));
  }
  call.append(std::move(statement));
}

// Numbers of grid_sampler's modes, in order.
constexpr const char* kInterpolations[] = {"linear", "nearest", "cubic"};

void grid_sample(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::grid_sample, {call.required("input"), call.required("grid")});
  const std::int64_t mode = call.integer("interpolation_mode");
  if (mode >= 0 && mode < std::ssize(kInterpolations)) {
    statement.attributes.set("mode", std::string(kInterpolations[mode]));
  }
  statement.attributes.set("align_corners", static_cast<std::int64_t>(call.flag("align_corners")));
  call.append(std::move(statement));
}

void affine_grid(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::affine_grid, {call.required("theta")});
  call.set_list(statement, "size", call.list("size"), 1);
  call.append(std::move(statement));
}

template <const char* kFactor>
void shuffle(const AtenCall& call) {
  Statement statement = call.statement(call.row().op, {call.required("self")});
  statement.attributes.set("blocksize", call.integer(kFactor));
  call.append(std::move(statement));
}

constexpr char kUpscale[] = "upscale_factor";
constexpr char kDownscale[] = "downscale_factor";

// Regions [number, 5]: the image that each is of, then its corners.
void roi_align(const AtenCall& call) {
  const VariableId regions = call.required("rois");
  const VariableId corners = call.part(OperatorId::slice, {regions}, call.dtype(regions),
                                       attributes_of({{"starts", Shape{1}}, {"ends", Shape{5}}, {"axes", Shape{1}}}));
  Statement statement = call.statement(OperatorId::roi_align, {call.required("input"), corners});
  statement.attributes.set("output_height", call.integer("pooled_height"));
  statement.attributes.set("output_width", call.integer("pooled_width"));
  statement.attributes.set("sampling_ratio", std::max<std::int64_t>(0, call.integer("sampling_ratio")));
  call.append(std::move(statement));
}

// Complex tensors, transformed along some dimensions one after the other. Between real and complex one side is kept.
void fourier(const AtenCall& call) {
  const std::string_view name = call.row().name;
  const VariableId x = call.required("self");
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  Shape axes = call.numbers("dim");
  Shape lengths = call.numbers(call.node().find("n") != nullptr ? "n" : "s");
  if (axes.empty()) {
    const std::int64_t count = lengths.empty() ? rank : std::ssize(lengths);
    for (std::int64_t i = 0; i < count; ++i) axes.push_back(rank - count + i);
  }
  Statement statement = call.statement(OperatorId::dft, {x});
  statement.attributes.set("axes", axes);
  if (!lengths.empty()) statement.attributes.set("lengths", lengths);
  statement.attributes.set("onesided", static_cast<std::int64_t>(name.find("rfft") != std::string_view::npos));
  statement.attributes.set("inverse", static_cast<std::int64_t>(name.find("_i") != std::string_view::npos));
  call.append(std::move(statement));
}

// [samples] or [batch, samples] -> [.., frequencies, frames], complex or with both parts in a last dimension.
void stft(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::stft, {call.required("self")});
  if (call.has("window")) statement.inputs = {statement.inputs[0], kAbsent, call.tensor("window")};
  const std::int64_t length = call.integer("n_fft");
  constexpr std::int64_t kHopsPerWindow = 4;  // torch's where none is given
  statement.attributes.set("frame_length", length);
  statement.attributes.set("frame_step", call.optional_integer("hop_length").value_or(length / kHopsPerWindow));
  statement.attributes.set("onesided", call.optional_integer("onesided").value_or(1));
  statement.attributes.set("frequencies_first", std::int64_t{1});
  statement.attributes.set("return_complex", static_cast<std::int64_t>(call.flag("return_complex")));
  if (call.node().target.ends_with(".center") && call.flag("center"))
    statement.attributes.set("center", std::int64_t{1});
  call.append(std::move(statement));
}

using Op = OperatorId;

constexpr AtenRow kImages[] = {
    {"upsample_nearest1d", Op::resize, upsample},
    {"upsample_nearest2d", Op::resize, upsample},
    {"upsample_nearest3d", Op::resize, upsample},
    {"_upsample_nearest_exact1d", Op::resize, upsample},
    {"_upsample_nearest_exact2d", Op::resize, upsample},
    {"_upsample_nearest_exact3d", Op::resize, upsample},
    {"upsample_linear1d", Op::resize, upsample},
    {"upsample_bilinear2d", Op::resize, upsample},
    {"upsample_bicubic2d", Op::resize, upsample},
    {"upsample_trilinear3d", Op::resize, upsample},
    {"_upsample_bilinear2d_aa", Op::resize, upsample},
    {"_upsample_bicubic2d_aa", Op::resize, upsample},
    {"grid_sampler", Op::grid_sample, grid_sample},
    {"grid_sampler_2d", Op::grid_sample, grid_sample},
    {"grid_sampler_3d", Op::grid_sample, grid_sample},
    {"affine_grid_generator", Op::affine_grid, affine_grid},
    {"pixel_shuffle", Op::depth_to_space, shuffle<kUpscale>},
    {"pixel_unshuffle", Op::space_to_depth, shuffle<kDownscale>},
    {"torchvision::roi_align", Op::roi_align, roi_align},
    {"fft_fft", Op::dft, fourier},
    {"fft_ifft", Op::dft, fourier},
    {"fft_rfft", Op::dft, fourier},
    {"fft_irfft", Op::dft, fourier},
    {"fft_fft2", Op::dft, fourier},
    {"fft_ifft2", Op::dft, fourier},
    {"fft_rfft2", Op::dft, fourier},
    {"fft_irfft2", Op::dft, fourier},
    {"fft_fftn", Op::dft, fourier},
    {"fft_ifftn", Op::dft, fourier},
    {"fft_rfftn", Op::dft, fourier},
    {"fft_irfftn", Op::dft, fourier},
    {"stft", Op::stft, stft},
};

}  // namespace

std::span<const AtenRow> aten_images() { return kImages; }

}  // namespace latpred::readers
