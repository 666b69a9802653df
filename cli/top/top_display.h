// `attune top`: one picture after the other, of all jobs or of one, until a key, an interrupt or the end of what is
// shown. On a terminal each picture takes the place of the one before; elsewhere they follow each other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "cli/connection.h"
#include "cli/display/screen.h"
#include "operator/kube/object.h"

namespace attune::cli {

// What pictures are made of.
class TopSubject {
 public:
  virtual ~TopSubject() = default;

  // An error leaves what was seen before; the picture says that it is not new. The first look has to succeed.
  virtual Status Look() = 0;
  virtual bool over() const = 0;                                                       // nothing more will come
  virtual std::vector<std::string> Lines(const Screen& screen, double now) const = 0;  // fit the screen
  virtual std::vector<std::string> PlainLines(double now) const = 0;                   // of any width
  virtual kube::Json ToJson(double now) const = 0;
};

// `time` must outlive the subject.
std::unique_ptr<TopSubject> AllJobs(const Target& target, bool all_namespaces);
std::unique_ptr<TopSubject> OneJob(JobConnection connection, const TimeSource& time);

struct TopOptions {
  Duration interval = std::chrono::seconds(2);
  bool once = false, json = false;
};

// The exit code.
int ShowTop(TopSubject& subject, const TopOptions& options, const TimeSource& time);

}  // namespace attune::cli
