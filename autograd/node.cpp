#include <tally/autograd/node.h>

#include <atomic>

namespace tally {
namespace {
std::atomic<std::uint64_t> next_number{1};
std::atomic<std::uint64_t> dropped{0};
}  // namespace

Node::Node(const char* op, Where caller) : name(op), where(caller), number(next_number.fetch_add(1)) {}

Node::~Node() {
  for (Edge& edge : inputs) drop(std::move(edge.node));
  ++dropped;
}

void drop(std::shared_ptr<Node> node) noexcept {
  // The node's destructor calls drop again for its inputs; those wait here until the outermost call takes them.
  thread_local std::vector<std::shared_ptr<Node>>* waiting = nullptr;
  if (!node || node.use_count() > 1) return;
  if (waiting) return waiting->push_back(std::move(node));
  std::vector<std::shared_ptr<Node>> queue;
  waiting = &queue;
  node.reset();
  while (!queue.empty()) {
    std::shared_ptr<Node> next = std::move(queue.back());
    queue.pop_back();
    next.reset();
  }
  waiting = nullptr;
}

TensorBody::~TensorBody() {
  if (node) drop(std::move(node));
}

std::int64_t live_nodes() { return static_cast<std::int64_t>(next_number - 1 - dropped); }

}  // namespace tally
