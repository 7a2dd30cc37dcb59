// MNIST's file format: a big-endian header (magic 2051 and count, rows, cols for images; 2049 and count for labels),
// then one byte a pixel or label. Every file may be gzip data, whatever its name says.
#pragma once

#include <cstdint>
#include <string>

#include <tally/nn/data/byte_stream.h>
#include <tally/nn/data/image_set.h>

namespace tally {

/// The four files of an MNIST-style data set in `directory`: {train,t10k}-{images-idx3,labels-idx1}-ubyte, with or
/// without `.gz`, the last `-` of the stem also as a dot (`train-images.idx3-ubyte`).
/// `classes` = 0 takes the number of different labels in the training set. Every label must be below it, so that one
/// damaged label is an error and not two hundred empty classes.
/// Throws IoError, or ShapeError where two files do not fit each other; the text names the file, what was found in it
/// and what was expected. Nothing is allocated on a header's word alone.
ImageData load_idx(const std::string& directory, std::int64_t classes = 0, Where where = Where::here());

/// One set from its two files, labels not yet compared with a number of classes.
ImageSet read_idx(const std::string& images_path, const std::string& labels_path, Where where = Where::here());

/// One set from one stream, the labels' data right behind the images'.
ImageSet read_idx(ByteStream& images_and_labels);

/// Throws IoError, with the label's place, for the first label that is not below `classes`.
void check_labels(const ImageSet& set, std::int64_t classes, const FileSite& site);

}  // namespace tally
