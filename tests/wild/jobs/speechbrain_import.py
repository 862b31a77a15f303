"""import speechbrain_import before any part of SpeechBrain: releases up to 1.0.3 ask torchaudio for what it had until 2.8."""
import torchaudio

if not hasattr(torchaudio, "list_audio_backends"):
    torchaudio.list_audio_backends = lambda: ["soundfile"]
