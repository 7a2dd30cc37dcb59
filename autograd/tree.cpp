#include <tally/autograd/tree.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tally/autograd/graph_text.h>

namespace tally {
namespace {

class Tree {
 public:
  std::string write(const Tensor& tensor) {
    const TensorBody& body = tensor.body();
    number_ops(body.node.get());
    waiting_.push_back({body.node.get(), body.output, &tensor, "", ""});
    while (!waiting_.empty()) {
      const Item item = std::move(waiting_.back());
      waiting_.pop_back();
      text_ += item.first;
      if (item.node)
        write_op(item);
      else
        write_leaf(*item.leaf);
    }
    return std::move(text_);
  }

 private:
  // An op or a leaf that is to be written: what stands before its own line, and before those of its inputs.
  struct Item {
    const Node* node;
    int output;
    const Tensor* leaf;
    std::string first, rest;
  };

  void number_ops(const Node* root) {
    std::vector<const Node*> ops;
    std::unordered_set<const Node*> seen;
    const auto visit = [&](const Node* node) {
      if (node && seen.insert(node).second) ops.push_back(node);
    };
    visit(root);
    for (std::size_t i = 0; i < ops.size(); ++i)
      for (const Edge& edge : ops[i]->inputs) visit(edge.node.get());
    std::sort(ops.begin(), ops.end(), [](const Node* a, const Node* b) { return a->number < b->number; });
    for (const Node* op : ops) numbers_.emplace(op, numbers_.size() + 1);
  }

  void write_op(const Item& item) {
    const Node& node = *item.node;
    const Node::Result& result = node.results[static_cast<std::size_t>(item.output)];
    text_ += std::string(node.name) + " #" + std::to_string(numbers_[&node]);
    if (node.results.size() > 1) text_ += " result " + std::to_string(item.output);
    text_ += ": " + detail::kind_of(result.dtype, result.shape);
    if (!written_.insert(&node).second) {
      text_ += ", see above\n";
      return;
    }
    text_ += ", " + detail::file_of(node.where) + ", " + detail::keeping_of(node);
    if (const std::string time = detail::time_of(node); !time.empty()) text_ += ", " + time;
    text_ += "\n";
    const auto wanted = std::count_if(node.inputs.begin(), node.inputs.end(), [](const Edge& e) { return e.wanted(); });
    for (std::size_t i = node.inputs.size(); i-- > 0;) {  // the last in is the first out
      const Edge& edge = node.inputs[i];
      if (!edge.wanted()) continue;
      const std::string mark = wanted > 1 ? "  " + std::to_string(i) + ": " : "";
      waiting_.push_back(
          {edge.node.get(), edge.output, &edge.leaf, item.rest + mark, item.rest + std::string(mark.size(), ' ')});
    }
  }

  void write_leaf(const Tensor& leaf) {
    const auto [found, is_new] = leaves_.emplace(&leaf.body(), leaves_.size() + 1);
    text_ += "leaf " + std::to_string(found->second);
    text_ += is_new ? ": " + detail::kind_of(leaf.dtype(), leaf.shape()) + "\n" : ", see above\n";
  }

  std::string text_;
  std::vector<Item> waiting_;
  std::unordered_map<const Node*, std::size_t> numbers_;
  std::unordered_map<const TensorBody*, std::size_t> leaves_;
  std::unordered_set<const Node*> written_;
};

}  // namespace

std::string to_tree(const Tensor& tensor) {
  tensor.shape();  // an undefined tensor throws here
  return Tree().write(tensor);
}

}  // namespace tally
