#pragma once

#include "latpred/program.h"
#include "latpred/reader.h"
#include "readers/source.h"

namespace latpred::readers {

// A .keras archive: a zip with the layers' config as JSON. Its weights are not read; their sizes follow from the
// config. Throws UnsupportedOperatorError, with layer and class, for what only Keras itself can tell.
[[nodiscard]] Program read_keras(const Source& source, const ReaderLimits& limits);

// The config alone: the config.json of an archive that has been unpacked.
[[nodiscard]] Program read_keras_config(const Source& source, const ReaderLimits& limits);

// A whole model in HDF5, as Keras wrote before version 3: the same config in an attribute.
[[nodiscard]] Program read_keras_hdf5(const Source& source, const ReaderLimits& limits);

}  // namespace latpred::readers
