// A reader's pod on a cluster, from its creation to its removal: the shell around cli/pull/reader_manifest.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"

namespace attune::cli {

// What surrounds it, so that tests need no clock. All of it must outlive the reader.
struct ReaderSurroundings {
  const TimeSource& time;
  std::function<bool(Duration time)> wait;           // true: it was interrupted
  std::function<void(const std::string& text)> say;  // to the user, in a line
};

class PodReader {
 public:
  // Creates `pod`, in place of one that an earlier call left, and waits at most `most` until it answers. The error says
  // what it waited for. Nothing is left when it fails.
  static StatusOr<std::unique_ptr<PodReader>> Start(kube::Api& api, const kube::Json& pod, const std::string& token,
                                                    Duration most, const ReaderSurroundings& surroundings);
  ~PodReader();  // deletes the pod

  // As ShownFiles asks. What passes by (an API server that is restarted) is waited out.
  StatusOr<std::string> Ask(const std::string& request);

 private:
  PodReader(kube::Api& api, kube::ObjectKey key, std::string token, const ReaderSurroundings& surroundings)
      : api_(api), key_(std::move(key)), token_(std::move(token)), with_(surroundings) {}

  Status Create(const kube::Json& pod, MonotonicTime deadline);
  Status RemoveEarlier(MonotonicTime deadline);
  Status AwaitRunning(MonotonicTime deadline);
  Status AwaitAnswer(MonotonicTime deadline);
  StatusOr<std::string> AskOnce(const std::string& request);
  // Cancelled at an interrupt.
  Status Pause(Duration time) const;

  kube::Api& api_;
  const kube::ObjectKey key_;
  const std::string token_;
  const ReaderSurroundings& with_;
  std::string uid_;  // of the pod that is ours to delete; "": none
};

}  // namespace attune::cli
