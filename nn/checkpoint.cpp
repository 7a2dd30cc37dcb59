#include <tally/nn/checkpoint.h>

#include <charconv>

#include <tally/core/error.h>
#include <tally/nn/file.h>
#include <tally/ops/reduction.h>

namespace tally::nn {
namespace {

constexpr auto kFormat = "tally.format", kFormatOf = "checkpoint 1", kOrder = "tally.order_version",
               kEpoch = "tally.epoch", kStep = "tally.step", kBatch = "tally.batch", kSeed = "tally.seed",
               kOffset = "tally.offset";
const std::string kNote = "note.";

void append(NamedTensors& all, const std::string& prefix, const NamedTensors& tensors) {
  for (const NamedTensor& one : tensors) all.push_back({prefix + one.name, one.tensor});
}

/// Those whose names start with `prefix`, without it.
NamedTensors with_prefix(const NamedTensors& all, const std::string& prefix) {
  NamedTensors found;
  for (const NamedTensor& one : all)
    if (one.name.rfind(prefix, 0) == 0) found.push_back({one.name.substr(prefix.size()), one.tensor});
  return found;
}

template <class T> T number(const Metadata& metadata, const std::string& name, const FileSite& site) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) site.fail("no " + name + " in its metadata: not a checkpoint");
  const std::string& text = found->second;
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < T{})
    site.fail(name + " is \"" + text + "\", not a count");
  return value;
}

struct Loaded {
  NamedTensors tensors;
  TrainingState state;
};

Loaded load(const std::string& path, Where where) {
  const FileSite site{"load_checkpoint", path, where};
  Safetensors file = detail::load_checked(path, where);
  const Metadata& metadata = file.metadata;
  const auto format = metadata.find(kFormat);
  if (format == metadata.end() || format->second != kFormatOf)
    site.fail(format == metadata.end() ? "not a checkpoint" : "its format is " + format->second + ", not " + kFormatOf);
  if (const auto order = number<int>(metadata, kOrder, site); order != kOrderVersion)
    site.fail("its results came about in order version " + std::to_string(order) + ", this library's is " +
              std::to_string(kOrderVersion) + ": the run would go on with other bits");
  TrainingState state;
  state.epoch = number<std::int64_t>(metadata, kEpoch, site);
  state.step = number<std::int64_t>(metadata, kStep, site);
  state.batch = number<std::int64_t>(metadata, kBatch, site);
  state.generator = Generator(number<std::uint64_t>(metadata, kSeed, site));
  state.generator.set_offset(number<std::uint64_t>(metadata, kOffset, site));
  for (const auto& [name, text] : metadata)
    if (name.rfind(kNote, 0) == 0) state.notes[name.substr(kNote.size())] = text;
  state.extra = with_prefix(file.tensors, "extra.");
  return {std::move(file.tensors), std::move(state)};
}

}  // namespace

void save_checkpoint(const std::string& path, ModuleRef model, const Optimizer& optimizer, const TrainingState& state,
                     Where where) {
  NamedTensors tensors;
  append(tensors, "model.", state_dict(model));
  append(tensors, "optimizer.", optimizer.state());
  append(tensors, "extra.", state.extra);
  Metadata metadata{{kFormat, kFormatOf},
                    {kOrder, std::to_string(kOrderVersion)},
                    {kEpoch, std::to_string(state.epoch)},
                    {kStep, std::to_string(state.step)},
                    {kBatch, std::to_string(state.batch)},
                    {kSeed, std::to_string(state.generator.seed())},
                    {kOffset, std::to_string(state.generator.offset())}};
  for (const auto& [name, text] : state.notes) metadata[kNote + name] = text;
  detail::save_checked(path, tensors, metadata, where);
}

TrainingState load_checkpoint(const std::string& path, ModuleRef model, Optimizer& optimizer, Where where) {
  Loaded loaded = load(path, where);
  const NamedTensors before = optimizer.state();
  optimizer.load_state(with_prefix(loaded.tensors, "optimizer."), where);
  try {
    load_state_dict(model, with_prefix(loaded.tensors, "model."), where);
  } catch (...) {
    optimizer.load_state(before, where);
    throw;
  }
  return std::move(loaded.state);
}

TrainingState peek_checkpoint(const std::string& path, Where where) { return load(path, where).state; }

}  // namespace tally::nn
