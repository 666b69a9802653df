#include "ps/runtime/process/final_report.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/fit_text.h"

namespace attune::ps {
namespace {

constexpr size_t kSummaryBytesMax = 4 << 10;
constexpr size_t kModelPathBytesMax = 1024;
constexpr size_t kResultNameBytesMax = 128;

// One reason why metrics are left out, and which.
class Left {
 public:
  explicit Left(std::string why) : why_(std::move(why)) {}
  void Add(const std::string& name) {
    constexpr size_t kNamedMax = 8, kShownBytesMax = 48;
    if (++count_ <= kNamedMax) names_ += (names_.empty() ? "" : ", ") + FitText(name, kShownBytesMax);
    if (count_ == kNamedMax + 1) names_ += ", ...";
  }
  // "2 metrics that are no numbers (loss, recall)"; "" for none.
  std::string Text() const {
    if (count_ == 0) return "";
    return std::to_string(count_) + (count_ == 1 ? " metric " : " metrics ") + why_ + " (" + names_ + ")";
  }

 private:
  const std::string why_;
  size_t count_ = 0;
  std::string names_;
};

}  // namespace

v1::FinalReport MakeFinalReport(const FinalResult& result) {
  v1::FinalReport report;
  Left no_number("without a finite value"), no_name("without a proper name"),
      too_many("beyond the " + std::to_string(kMetricsMax) + " that are kept");
  for (const auto& [name, value] : result.metrics) {
    if (name.empty() || FitText(name, kResultNameBytesMax) != name) {
      no_name.Add(name);
    } else if (!std::isfinite(value)) {
      no_number.Add(name);
    } else if (static_cast<size_t>(report.metrics_size()) >= kMetricsMax) {
      too_many.Add(name);
    } else {
      (*report.mutable_metrics())[name] = value;
    }
  }
  report.set_summary(FitText(result.summary, kSummaryBytesMax));
  report.set_model_path(FitText(result.model_path, kModelPathBytesMax));
  std::string left;
  for (const Left* each : {&no_number, &no_name, &too_many}) {
    if (const std::string text = each->Text(); !text.empty()) left += (left.empty() ? "" : "; ") + text;
  }
  report.set_left_out(left);
  return report;
}

}  // namespace attune::ps
