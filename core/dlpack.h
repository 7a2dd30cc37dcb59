// Tensors to and from other libraries in one process, without a copy, by the structs of DLPack (its versions 1.x and
// the unversioned one before). The structs are those of dlpack.h; who has that header may include both.
//
//   Tensor x = from_dlpack(theirs);  // theirs->deleter runs when the last tensor on the memory is gone
//   DLManagedTensorVersioned* mine = to_dlpack(x);
//   mine->deleter(mine);             // who takes a struct calls this once; the memory lives until then
//
// Both sides see what either writes. A write from outside is not seen by backward's version checks. On CUDA, handing
// over waits for the device, so neither side needs to know the other's streams.
#pragma once

#include <tally/core/tensor.h>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tally {

/// How a tensor is taken over.
struct DLPackImport {
  /// Copies, and gives the memory back at once: for what cannot be shared, read-only memory and negative strides.
  bool copy = false;
};

/// A tensor on someone else's memory: a leaf that asks for no gradient. `managed` is taken over in every case: where
/// this throws, its deleter has run. Null strides mean row-major, `byte_offset` is honoured, strides of 0 are kept.
/// Throws DTypeError for what is not one of Tally's dtypes (vectors of lanes, complex, 8-bit floats, other integers);
/// DeviceError for devices other than the CPU and CUDA device 0; ShapeError for more than kMaxDims dims, negative sizes
/// or sizes beyond 63 bits; ValueError for another major version, memory that is read-only or walked backwards (unless
/// copied), null, or not aligned to its elements.
Tensor from_dlpack(DLManagedTensorVersioned* managed, DLPackImport options = {}, Where where = Where::here());
Tensor from_dlpack(DLManagedTensor* managed, DLPackImport options = {}, Where where = Where::here());

/// The tensor's memory for someone else, strides always given. AutogradError for a tensor that requires grad, since
/// what is done to it outside is not differentiated: export x.detach().
DLManagedTensorVersioned* to_dlpack(const Tensor& x, Where where = Where::here());
/// The same for libraries from before DLPack 1.0.
DLManagedTensor* to_dlpack_unversioned(const Tensor& x, Where where = Where::here());

}  // namespace tally
