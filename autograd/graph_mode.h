// What ops ask before they record: the switches of this thread, in one place so that one call reads them all.
#pragma once

namespace tally::detail {

struct GraphMode {
  bool record = true;      // no_grad.h
  bool hunt_nans = false;  // nan_hunt.h
  bool time = false;       // timer.h
};
GraphMode& graph_mode();

/// Sets one switch for a scope and restores it, also when an exception leaves.
class Switch {
 public:
  Switch(bool GraphMode::*which, bool on) : which_(which), before_(graph_mode().*which) { graph_mode().*which = on; }
  ~Switch() { graph_mode().*which_ = before_; }
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

 private:
  bool GraphMode::*which_;
  bool before_;
};

}  // namespace tally::detail
