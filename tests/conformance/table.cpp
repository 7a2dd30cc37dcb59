#include "table.h"

namespace tally::conformance {

const Table& ops() {
  static const Table table = [] {
    Table all;
    for (Table part : {elementwise_ops(), view_ops(), reductions(), nn_ops()}) all.merge(part);
    return all;
  }();
  return table;
}

}  // namespace tally::conformance
