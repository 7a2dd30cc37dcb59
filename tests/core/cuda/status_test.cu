#include <tally/core/cuda/status.h>

#include <tally/core/error.h>

#include "support.h"

namespace tally::gpu {
namespace {

class CudaStatus : public CudaTest {};

__global__ void look_up(const int* labels, int n, int classes, float* out, Status status) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (labels[i] < 0 || labels[i] >= classes) {
    report(status, labels[i], classes, i);
    return;
  }
  out[i] = static_cast<float>(labels[i]);
}

__global__ void update(float* parameter, Status status) {
  if (raised(status)) return;
  parameter[threadIdx.x] += 1;
}

Status watch_labels(Where where = Where::here()) {
  return watch("look_up", where, [](const char* op, Where where, const Report& report) {
    throw IndexError(op,
                     "label " + std::to_string(report.value) + " at " + std::to_string(report.index) +
                         ", but there are " + std::to_string(report.limit) + " classes",
                     where);
  });
}

TEST_F(CudaStatus, IsThrownByTheNextReadWithOpAndLine) {
  Array<int> good(std::vector<int>{0, 1, 2, 3}), bad(std::vector<int>{0, 1, -3, 3});
  Array<float> out(4), parameter(std::vector<float>(32, 5.f));
  launch(look_up, {1, 32}, good.data(), 4, 5, out.data(), watch_labels());
  synchronize();
  const int line = __LINE__ + 1;
  launch(look_up, {1, 32}, bad.data(), 4, 5, out.data(), watch_labels());
  launch(update, {1, 32}, parameter.data(), status());
  const std::string text = message_of<IndexError>([&] { out.host(); });
  EXPECT_EQ(text.rfind("look_up: label -3 at 2, but there are 5 classes", 0), 0u) << text;
  EXPECT_NE(text.find("status_test.cu:" + std::to_string(line)), std::string::npos) << text;

  EXPECT_EQ(parameter.host(), std::vector<float>(32, 5.f)) << "not updated, and not thrown again";
  launch(update, {1, 32}, parameter.data(), status());
  EXPECT_EQ(parameter.host(), std::vector<float>(32, 6.f));
}

TEST_F(CudaStatus, OneReportIsKeptWhole) {
  const int n = 1024;
  std::vector<int> labels(n);
  for (int i = 0; i < n; ++i) labels[i] = 1000 + i;  // each is out of range
  Array<int> device(labels);
  Array<float> out(n);
  launch(look_up, {8, 128}, device.data(), n, 10, out.data(), watch_labels());
  const std::string text = message_of<IndexError>([] { synchronize(); });
  bool whole = false;
  for (int i = 0; i < n; ++i)
    whole |= text.rfind("look_up: label " + std::to_string(1000 + i) + " at " + std::to_string(i) + ", but", 0) == 0;
  EXPECT_TRUE(whole) << text;
  synchronize();
}

TEST_F(CudaStatus, OneEntryForEachSite) {
  int first = 0;
  for (int i = 0; i < 3; ++i) {
    const int site = watch_labels().site;
    if (i == 0) first = site;
    EXPECT_EQ(site, first);
  }
  EXPECT_NE(watch_labels().site, first);
}

TEST_F(CudaStatus, IsSeenInReplays) {
  Array<int> labels(std::vector<int>{0, 1, 2, 3});
  Array<float> out(4);
  Graph graph = capture([&] { launch(look_up, {1, 32}, labels.data(), 4, 5, out.data(), watch_labels()); });
  graph.replay();
  synchronize();
  const int bad = 5;
  copy_to_device(labels.data() + 3, &bad, sizeof bad);
  graph.replay();
  EXPECT_THROW(synchronize(), IndexError);
  const int good = 4;
  copy_to_device(labels.data() + 3, &good, sizeof good);
  graph.replay();
  EXPECT_EQ(out.host(), (std::vector<float>{0, 1, 2, 4}));
}

}  // namespace
}  // namespace tally::gpu
