// The table of bad inputs: what is given to the real `attune`, how it ends, what it must say, and what must be left as
// it was. Rows lie in files by topic.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/local/bad_day/place.h"
#include "tests/local/cli/program.h"

namespace attune {

struct Case {
  std::string name;  // a sentence
  std::vector<GivenFile> files;
  std::vector<std::string> command;  // without "attune"
  int code = 2;
  std::vector<std::string> appears;       // in standard output or error
  std::vector<std::string> absent = {};   // must not appear
  std::vector<std::string> missing = {};  // paths that must not exist afterwards
  std::map<std::string, std::string> environment = {};
  bool on_full_disk = false;                      // "full" is a file system without space; skipped without the right
  std::map<std::string, std::string> links = {};  // symbolic links by what they lead to; must stay
  std::vector<std::string> pipes = {};            // named ones; must stay
  std::map<int, uint64_t> limits = {};            // as `ulimit` sets, by resource
  Surroundings surroundings = {};                 // where standard output goes, and which network there is
};
void PrintTo(const Case& each, std::ostream* out);

// Every given file, link and pipe must be as it was afterwards, and no process of the case may be left.
class BadDay : public ::testing::TestWithParam<Case> {};
// "a misspelled field" -> "a_misspelled_field".
std::string CaseName(const ::testing::TestParamInfo<Case>& info);

// A manifest named job.yaml whose worker has this pod spec (YAML in flow style) and whose spec has `members` besides.
GivenFile Job(const std::string& pod_spec, const std::string& members = "");
// The spec of a pod whose worker has these members: "comand: [w]".
std::string Worker(const std::string& members);

}  // namespace attune
