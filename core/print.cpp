#include <tally/core/print.h>

#include <algorithm>
#include <charconv>
#include <ostream>

#include <tally/core/raw.h>

namespace tally {
namespace {

constexpr std::int64_t kWhole = 1000;  // elements that are printed without cutting
constexpr std::int64_t kEdge = 3;      // shown of each end of a cut dim
constexpr std::size_t kWidth = 100;    // columns of a line

Tensor part(const Tensor& x, int dim, std::int64_t start, std::int64_t length) {
  Shape shape = x.shape();
  shape[dim] = length;
  return Tensor(x.storage(), x.offset() + start * x.strides()[dim], shape, x.strides(), x.dtype());
}

// Copies both ends of each dim from `dim` on, side by side.
void copy_edges(const Tensor& target, const Tensor& source, int dim) {
  if (dim == source.dim()) return raw::copy(target, source);
  const std::int64_t room = target.shape()[dim], size = source.shape()[dim];
  if (room == size) return copy_edges(target, source, dim + 1);
  copy_edges(part(target, dim, 0, kEdge), part(source, dim, 0, kEdge), dim + 1);
  copy_edges(part(target, dim, kEdge, kEdge), part(source, dim, size - kEdge, kEdge), dim + 1);
}

std::string text_of(double value, int digits) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
  return {text, end};
}

std::vector<std::string> texts_of(const Tensor& x) {
  std::vector<std::string> texts;
  if (is_floating(x.dtype()))
    for (double value : x.to_vector<double>()) texts.push_back(text_of(value, size_of(x.dtype()) == 2 ? 4 : 6));
  else
    for (std::int64_t value : x.to_vector<std::int64_t>())
      texts.push_back(x.dtype() == boolean ? (value ? "true" : "false") : std::to_string(value));
  return texts;
}

class Writer {
 public:
  // `shown` is what is printed of a tensor of shape `whole`.
  Writer(const Tensor& shown, const Shape& whole) : shown_(shown.shape()), whole_(whole), texts_(texts_of(shown)) {
    for (const std::string& text : texts_) width_ = std::max(width_, text.size());
  }

  std::string write() {
    if (shown_.empty()) return texts_[0];
    if (texts_.empty()) return "[]";
    block(0);
    return std::move(out_);
  }

 private:
  void block(int dim) {
    const bool row = dim + 1 == shown_.size();
    out_ += '[';
    for (std::int64_t i = 0; i < shown_[dim]; ++i) {
      if (i > 0) separate(dim, row ? width_ : 0);
      if (i == kEdge && shown_[dim] != whole_[dim]) {
        out_ += "...";
        separate(dim, row ? width_ : 0);
      }
      row ? element() : block(dim + 1);
    }
    out_ += ']';
  }

  // Elements stand in a line while there is room, rows under each other, blocks of rows apart.
  void separate(int dim, std::size_t room) {
    out_ += ',';
    const int inside = shown_.size() - 1 - dim;
    if (inside == 0 && out_.size() - line_ + 1 + room <= kWidth) {
      out_ += ' ';
      return;
    }
    out_.append(static_cast<std::size_t>(std::max(inside, 1)), '\n');
    line_ = out_.size();
    out_.append(static_cast<std::size_t>(dim) + 1, ' ');
  }

  void element() {
    const std::string& text = texts_[next_++];
    out_.append(width_ - text.size(), ' ');
    out_ += text;
  }

  Shape shown_, whole_;
  std::vector<std::string> texts_;
  std::size_t width_ = 0, next_ = 0, line_ = 0;
  std::string out_;
};

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  Shape shape = tensor.shape();
  if (tensor.numel() > kWhole)
    for (int i = 0; i < shape.size(); ++i) shape[i] = std::min(shape[i], 2 * kEdge);
  const Tensor shown = empty(shape, {.dtype = tensor.dtype()});
  if (tensor.numel() > 0) copy_edges(shown, tensor, 0);
  std::string text = Writer(shown, tensor.shape()).write();
  text += text.find('\n') == std::string::npos ? " " : "\n";
  text += describe(tensor);
  if (tensor.requires_grad()) text += tensor.is_leaf() ? ", requires grad" : ", with history";
  return text;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }
std::ostream& operator<<(std::ostream& out, Device device) { return out << name_of(device); }

}  // namespace tally
