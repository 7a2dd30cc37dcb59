#include <tally/autograd/dot.h>

#include <map>
#include <sstream>

#include <tally/autograd/graph_text.h>

namespace tally {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string label_of(const Node& node) {
  const std::string time = detail::time_of(node);
  return escaped(node.name) + "\\n" + escaped(detail::file_of(node.where)) + "\\n" + detail::keeping_of(node) +
         (time.empty() ? "" : "\\n" + time);
}

class Drawing {
 public:
  std::string draw(const Tensor& tensor) {
    const TensorBody& body = tensor.body();
    out_ << "digraph {\n  result [shape=plaintext];\n";
    connect(body.node.get(), tensor, "result", detail::kind_of(body.dtype, body.shape));
    while (!waiting_.empty()) {
      const Node& node = *waiting_.rbegin()->second;
      waiting_.erase(node.number);
      const std::string name = "n" + std::to_string(node.number);
      out_ << "  " << name << " [shape=box, label=\"" << label_of(node) << "\"];\n";
      for (const Edge& edge : node.inputs)
        if (edge.wanted()) connect(edge.node.get(), edge.leaf, name, detail::kind_of(edge.dtype, edge.shape));
    }
    out_ << "}\n";
    return out_.str();
  }

 private:
  // An arrow from an op, or else from a leaf.
  void connect(const Node* node, const Tensor& leaf, const std::string& to, const std::string& label) {
    std::string from;
    if (node) {
      from = "n" + std::to_string(node->number);
      waiting_[node->number] = node;  // consumers have higher numbers: each node is drawn once
    } else {
      const auto [found, is_new] = leaves_.emplace(&leaf.body(), leaves_.size());
      from = "leaf" + std::to_string(found->second);
      if (is_new) out_ << "  " << from << " [label=\"" << detail::kind_of(leaf.dtype(), leaf.shape()) << "\"];\n";
    }
    out_ << "  " << from << " -> " << to << " [label=\"" << label << "\"];\n";
  }

  std::ostringstream out_;
  std::map<std::uint64_t, const Node*> waiting_;
  std::map<const TensorBody*, std::size_t> leaves_;
};

}  // namespace

std::string to_dot(const Tensor& tensor) {
  tensor.shape();  // an undefined tensor throws here
  return Drawing().draw(tensor);
}

}  // namespace tally
